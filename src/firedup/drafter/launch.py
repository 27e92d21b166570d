"""A launch command → the flags that bear on a drafter, whatever shell or wrapper it stands in."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence

from firedup.drafter.case import Launch
from firedup.drafter.config import whole
from firedup.profile.flags import takes_script

_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
_TP = ("tp-size", "tensor-parallel-size", "tp")
_SHORT = {"-sc": "speculative-config", "-tp": "tp"}


def read_launch(
    command: str | Sequence[str], env: Mapping[str, str] | None = None, tp: int | None = None
) -> Launch:
    """The flags of `command` by name, dashes for underscores; a switch has the value "true".

    Of a flag whose value is JSON the parts are there, too: `speculative-config.method`. Nothing is
    expanded. ValueError for a text with an open quote.
    """
    argv = tuple(shlex.split(command) if isinstance(command, str) else command)
    words = list(_unwrap(argv))
    given = dict(env or {})
    flags: dict[str, str] = {}
    for index, word in enumerate(words):
        assigned = _ASSIGNMENT.fullmatch(word)
        if assigned and not word.startswith("-"):
            given.setdefault(assigned[1], assigned[2])
        if not _is_flag(word):
            continue
        name, equals, value = word.partition("=")
        after = words[index + 1] if index + 1 < len(words) else "-"
        if not equals:
            value = "true" if _is_flag(after) else after
        flags[_name(name)] = value
    for name, value in list(flags.items()):
        if value.lstrip().startswith("{"):
            flags.update(_parts(name, value))
    found = next((number for name in _TP if (number := _number(flags.get(name)))), None)
    return Launch(argv, flags, given, tp or found)


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


def _is_flag(word: str) -> bool:
    return len(word) > 1 and word[0] == "-" and (word[1].isalpha() or word[1] == "-")


def _name(flag: str) -> str:
    head, dot, tail = flag.partition(".")
    return _SHORT.get(flag) or head.lstrip("-").replace("_", "-") + dot + tail


def _parts(name: str, value: str) -> dict[str, str]:
    try:
        keys = json.loads(value)
    except ValueError:
        return {}
    if not isinstance(keys, dict):
        return {}
    plain = {k: v if isinstance(v, str) else json.dumps(v) for k, v in keys.items()}
    return {f"{name}.{key}": text for key, text in plain.items()}


def _number(value: str | None) -> int | None:
    return whole({"": int(value)}, "") if value and value.isascii() and value.isdigit() else None
