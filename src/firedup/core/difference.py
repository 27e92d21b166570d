"""What is different between two launches, such as a run and the last one that came up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

VERSION = "version"  # of the engine, as a change's name


@dataclass(frozen=True, slots=True)
class Change:
    """What became of one flag or variable of a command; a side is None where it is not given.

    A flag without a value is "" on the side that has it. `name` of a flag begins with "-". The
    values are as they were given, secrets too: views show them through view/change.py.
    """

    name: str
    old: str | None
    new: str | None


@dataclass(frozen=True, slots=True)
class Launch:
    """What decides how a server starts; `version` is that of its engine, None if not known.

    `facts` are pairs of what its host had: versions of packages and driver, digests of files.
    """

    argv: tuple[str, ...]
    env: tuple[tuple[str, str], ...] = ()
    setup: str | None = None
    folder: str | None = None
    version: str | None = None
    facts: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Comparison:
    """How a run differs from the last one like it that came up, `run`; `old` is of that one."""

    run: str
    changes: tuple[Change, ...]


def describe_changes(
    old_env: Mapping[str, str],
    old_argv: Sequence[str],
    env: Mapping[str, str],
    argv: Sequence[str],
) -> tuple[Change, ...]:
    """What is different, flags before variables."""
    return tuple(
        Change(name, before.get(name), after.get(name))
        for before, after in ((_flags(old_argv), _flags(argv)), (old_env, env))
        for name in dict.fromkeys([*before, *after])
        if before.get(name) != after.get(name)
    )


def compare_launches(old: Launch, new: Launch, mentions: Sequence[str] = ()) -> tuple[Change, ...]:
    """Everything that is different between two launches, what `mentions` names first.

    `mentions` are the flags and variables that matter for a failure. A version or fact that is not
    known on both sides is no change.
    """
    found = list(describe_changes(dict(old.env), old.argv, dict(new.env), new.argv))
    if old.argv[:1] != new.argv[:1]:
        found.insert(0, Change("program", next(iter(old.argv), None), next(iter(new.argv), None)))
    sides = [("set-up", old.setup, new.setup), ("folder", old.folder, new.folder)]
    if old.version is not None and new.version is not None:
        sides.append((VERSION, old.version, new.version))
    facts = dict(new.facts)
    sides += [(name, value, facts[name]) for name, value in old.facts if name in facts]
    found += [Change(name, before, after) for name, before, after in sides if before != after]
    wanted = {_spell(word) for word in mentions}
    return tuple(sorted(found, key=lambda change: _spell(change.name) not in wanted))


def is_flag(word: str) -> bool:
    """Whether a word of a command is a flag; a negative number is none."""
    return word.startswith("-") and not word[1:2].isdigit() and word != "-"


def _spell(name: str) -> str:
    return name.replace("_", "-") if name.startswith("--") else name


def _flags(argv: Sequence[str]) -> dict[str, str]:
    """Each flag with its values as text; words before the first flag under their own names."""
    found: dict[str, str] = {}
    name = ""
    for word in argv[1:]:
        if is_flag(word):
            name, has_value, value = word.partition("=")
            found[name] = value if has_value else ""
        elif name:
            found[name] = f"{found[name]} {word}".strip()
        else:
            found[word] = ""
    return found
