"""A complaint about a catalogue file, and many of them as one error."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from firedup.core.error import ProfileError
from firedup.core.rule import Rule
from firedup.profile.schema import SHARED, Place


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong: what, where, evidence (ready to print), and what to do."""

    what: str
    place: Place
    evidence: tuple[str, ...] = ()
    todo: str | None = None

    def __str__(self) -> str:
        lines = [self.what, f"  {self.place}", *(f"  {line}" for line in self.evidence)]
        if self.todo:
            lines.append(self.todo)
        return "\n".join(lines)


def label_of(rule: Rule) -> str:
    """How messages call a rule."""
    return f"profile {rule.engine or SHARED}, rule {rule.id}"


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word most like `word`, or None when none is near."""
    import difflib  # noqa: PLC0415 - needed only when something is wrong

    found = difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    return found[0] if found else None


def error_of(problems: Sequence[Problem]) -> ProfileError:
    """All problems as one error, so that a user mends a file in one go."""
    first = problems[0]
    if len(problems) == 1:
        return ProfileError(
            first.what,
            where=str(first.place),
            evidence="\n  ".join(first.evidence) or None,
            todo=first.todo,
        )
    return ProfileError(
        f"{len(problems)} problems in profile files",
        evidence="\n\n".join(str(problem) for problem in problems).replace("\n", "\n  "),
        todo="Mend them and run `firedup profile check FILE` again.",
    )
