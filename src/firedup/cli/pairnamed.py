"""Which target and drafter a check is about: those that were typed, else those of a command."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from pathlib import Path

from firedup.core.error import UsageError
from firedup.core.model import ServerSpec
from firedup.drafter.pair import split_place

Words = tuple[str | None, str | None]
Others = tuple[tuple[str, str], ...]
_ROLES = {"TARGET": "target", "DRAFT": "drafter"}
_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")


@dataclass(frozen=True, slots=True)
class Pair:
    """Two checkpoints; `others` are rows about those that a command names in their place."""

    target: str
    draft: str
    others: Others = ()


def name_pair(words: Words, spec: ServerSpec, cwd: str, source: str = "") -> Pair:
    """The pair of `words`, completed from `spec`, whose paths are from `cwd` and stay so.

    `source` is what the command is called, "" where there is none. UsageError for one that neither
    names.
    """
    named: list[str] = []
    others: list[tuple[str, str]] = []
    for word, meant, role in zip(words, (spec.model, spec.draft), _ROLES, strict=True):
        place = None if meant is None else posixpath.join(cwd, meant)
        named.append(_choose(word, meant, role, source))
        if word is not None and place is not None and not _is_same(word, place):
            others.append((f"other {_ROLES[role]}", f"{source} names {meant}; not looked at"))
    return Pair(named[0], named[1], tuple(others))


def _choose(word: str | None, meant: str | None, role: str, source: str) -> str:
    if word is not None:
        return word
    if meant is not None:
        return meant
    if source:
        raise UsageError(
            f"{source} names no {_ROLES[role]}", todo="Name both: firedup check TARGET DRAFT."
        )
    raise UsageError(
        f"{role} is missing",
        todo="firedup check TARGET DRAFT, or --command or --run that names both.",
    )


def _is_same(word: str, place: str) -> bool:
    """Whether both may be one checkpoint, as far as this machine can tell."""
    path = split_place(word)[1].rstrip("/")
    if posixpath.normpath(path) == posixpath.normpath(place):
        return True
    if Path(path).expanduser().resolve() == Path(place).expanduser().resolve():
        return True
    # The folder of a model that the command calls by its name in the hub.
    tail = place.rpartition("/")[2].lower()
    return bool(_HUB_NAME.fullmatch(place)) and posixpath.basename(path).lower() == tail
