"""Reads the flags of a command line the way argparse does, knowing only some of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_SHELLS = ("sh", "bash", "dash", "zsh", "ksh")


@dataclass(frozen=True, slots=True)
class Flags:
    """What was given: (flag as declared, value or None) in order, and the first bare word.

    A word after a flag that we do not know is taken for its value.
    """

    given: tuple[tuple[str, str | None], ...]
    bare: str | None

    def last(self, names: Sequence[str]) -> str | None:
        """The value of the last flag in `names` that has one."""
        return next((v for f, v in reversed(self.given) if f in names and v is not None), None)

    def has(self, names: Sequence[str]) -> bool:
        """Whether a flag of `names` was given; "--flag=value" asks for that value."""
        wanted = {name.partition("=")[0::2] for name in names}
        return any(
            flag == name and (not value or value == given)
            for flag, given in self.given
            for name, value in wanted
        )

    def dotted(self, name: str) -> dict[str, str]:
        """The parts of a JSON flag given one by one: `--config.key value`."""
        prefix = f"{name}."
        return {f[len(prefix) :]: v for f, v in self.given if f.startswith(prefix) and v}


def parse_flags(
    words: Sequence[str],
    known: Iterable[str],
    switches: Iterable[str] = (),
    *,
    abbreviates: bool = False,
    json_flags: Sequence[str] = (),
) -> Flags:
    """Reads `words`; `known` flags take a value, `switches` take none.

    Accepts `--flag value`, `--flag=value`, `--flag_name`, and unique beginnings of long flags where
    the engine's parser does (`abbreviates`).
    """
    declared = [*known, *switches]
    bare_switches = set(switches)
    given: list[tuple[str, str | None]] = []
    bare: str | None = None
    rest = iter(words)
    pending = next(rest, None)
    while (word := pending) is not None:
        pending = next(rest, None)
        if not _is_flag(word):
            bare = word if bare is None else bare
            continue
        name, equals, value = word.partition("=")
        flag = _resolve(name, declared, json_flags, abbreviates=abbreviates)
        if equals:
            given.append((flag, value))
        elif flag in bare_switches or pending is None or _is_flag(pending):
            given.append((flag, None))
        else:
            given.append((flag, pending))
            pending = next(rest, None)
    return Flags(tuple(given), bare)


def takes_script(program: str, flag: str) -> bool:
    """Whether the word after `flag` is a script for a shell: `sh -c`, `/bin/bash -lc`."""
    is_script = flag.startswith("-") and flag.endswith("c") and "--" not in flag
    return is_script and program.rpartition("/")[2] in _SHELLS


def _is_flag(word: str) -> bool:
    """Negative numbers are values, a lone dash is a file."""
    return len(word) > 1 and word[0] == "-" and not word[1].isdigit() and word[1] != "."


def _resolve(
    name: str, declared: Sequence[str], json_flags: Sequence[str], *, abbreviates: bool
) -> str:
    """The declared flag that `name` stands for, else `name` with dashes for underscores."""
    if name in declared:
        return name
    if not name.startswith("--"):
        return name
    head, dot, tail = name.partition(".")
    head = head.replace("_", "-")
    if dot:
        return f"{head}.{tail}" if head in json_flags else name
    if head in declared or not abbreviates or len(head) < 4:
        return head
    found = [flag for flag in declared if flag.startswith(head)]
    return found[0] if found else head
