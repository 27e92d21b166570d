"""The words of a launch command → flags by name, as the engine's own parser takes them."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence

from firedup.drafter.case import Launch
from firedup.drafter.config import whole
from firedup.profile.command import find_engine, find_inside, read_flags
from firedup.profile.flags import Flags, takes_script
from firedup.profile.load import load_catalogue
from firedup.profile.schema import GENERIC, Catalogue, EngineProfile

_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)


def read_words(
    argv: Sequence[str], env: Mapping[str, str], tp: int | None, catalogue: Catalogue | None
) -> Launch:
    """What `read_launch` says of a command that has words."""
    catalogue = catalogue or load_catalogue()
    inside, settings = find_inside(argv, catalogue)
    profile, words = _find(inside, catalogue)
    read = read_flags(profile, words)
    given = {**env, **settings}
    for word in _unwrap(inside):
        if assigned := _ASSIGNMENT.fullmatch(word):
            given.setdefault(assigned[1], assigned[2])
    flags = _by_name(read)
    if parts := read.keys(profile.command.json_flag):
        name = profile.command.json_flag[0].lstrip("-")
        flags = {k: v for k, v in flags.items() if not k.startswith(f"{name}.")}
        flags |= {name: json.dumps(parts), **_texts(name, parts)}
    found = _number(read.last(profile.command.tensor_parallel))
    is_engine = profile.engine != GENERIC
    return Launch(
        tuple(argv),
        flags,
        given,
        tp or found,
        engine=profile.engine if is_engine else None,
        typed={_plain(one.names): one.typed for one in read.given},
        refused=read.refused,
        read=profile.flags.read,
    )


def _find(argv: Sequence[str], catalogue: Catalogue) -> tuple[EngineProfile, Sequence[str]]:
    """The engine's profile, and its words; that of programs that are not known for any other."""
    if (found := find_engine(argv, catalogue)) is not None:
        return found
    named = catalogue.profile(argv[0]) if argv else None
    return named or catalogue.profile(GENERIC) or EngineProfile(GENERIC, GENERIC), argv[1:]


def _by_name(read: Flags) -> dict[str, str]:
    """What was given under the first name of each flag, and the parts of JSON beside it."""
    flags: dict[str, str] = {}
    for one in read.given:
        switched = "false" if one.is_off else "true"
        name, value = _plain(one.names), one.value if one.value is not None else switched
        flags[name] = value
        if value.lstrip().startswith("{"):
            flags |= _texts(name, _object(value))
    return flags


def _plain(names: Sequence[str]) -> str:
    """The flag's own name among `names`, of which the first is as it was given."""
    return names[min(1, len(names) - 1)].lstrip("-")


def _unwrap(argv: Sequence[str]) -> Iterator[str]:
    """The words, and those of a script that a shell is given with -c."""
    for index, word in enumerate(argv):
        if index > 1 and takes_script(argv[index - 2], argv[index - 1]):
            try:
                yield from shlex.split(word.replace("\\\n", " "))
            except ValueError:
                yield word
        else:
            yield word


def _texts(name: str, keys: Mapping[str, object]) -> dict[str, str]:
    plain = {k: v if isinstance(v, str) else json.dumps(v) for k, v in keys.items()}
    return {f"{name}.{key}": text for key, text in plain.items()}


def _object(text: str) -> Mapping[str, object]:
    try:
        keys = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return keys if isinstance(keys, dict) else {}


def _number(value: str | None) -> int | None:
    return whole({"": int(value)}, "") if value and value.isascii() and value.isdigit() else None
