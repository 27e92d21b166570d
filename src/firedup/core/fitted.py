"""Launch flags that fit a drafter and its target, each with its reason, as values for views."""

from __future__ import annotations

from dataclasses import dataclass

from firedup.core.checked import CheckFinding, grave


@dataclass(frozen=True, slots=True)
class Choice:
    """Words of a command that belong together, or a variable `K=V` of its environment, and why."""

    words: tuple[str, ...]
    reason: str
    is_variable: bool = False


@dataclass(frozen=True, slots=True)
class Fitted:
    """The flags for one engine (and version, "" = any), and the command that they make.

    `doubts` are what was left out, and why; `findings` speak against the pair there, worst first.
    """

    engine: str
    title: str
    version: str | None
    choices: tuple[Choice, ...]
    command: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    findings: tuple[CheckFinding, ...] = ()

    @property
    def fits(self) -> bool:
        """Whether nothing grave speaks against launching it so."""
        return not grave(self.findings)

    @property
    def words(self) -> tuple[str, ...]:
        """The flags alone."""
        return tuple(word for one in self.choices if not one.is_variable for word in one.words)

    @property
    def variables(self) -> tuple[tuple[str, str], ...]:
        """What the environment needs."""
        pairs = (one.words[0].partition("=") for one in self.choices if one.is_variable)
        return tuple((name, value) for name, _, value in pairs)
