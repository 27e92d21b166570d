"""Flags of an engine's parser, one a text, as usage shows them: `--name -n V`."""

from __future__ import annotations

import re

from firedup.profile.schema import Option, Takes
from firedup.profile.table import Table

_NAME = re.compile(r"--?[A-Za-z0-9][\w.-]*")
_VALUES = ("V", "V...", "[V]", "[V...]")


def parse_option(text: str) -> Option:
    """`--name -n / --no-name V` as a value; what stands after the slash turns the flag off.

    ValueError where it is not written so.
    """
    words = text.split()
    count = next((i for i, word in enumerate(words) if word in _VALUES), len(words))
    names, takes = words[:count], " ".join(words[count:])
    if takes not in set(Takes):
        raise ValueError(f'"{takes}" is none of {", ".join(repr(str(one)) for one in Takes)}')
    on = names[: names.index("/")] if "/" in names else names
    off = names[len(on) + 1 :]
    wrong = next((name for name in (*on, *off) if not _NAME.fullmatch(name)), None)
    if wrong is not None or not on:
        raise ValueError(f'"{wrong or text}" is no name of a flag')
    return Option(tuple(on), Takes(takes), tuple(off))


def read_options(t: Table, key: str) -> tuple[Option, ...]:
    """The flags under `key`; each that is not written as usage is becomes a problem."""
    found = []
    for text in t.texts(key):
        try:
            found.append(parse_option(text))
        except ValueError as error:
            t.complain(f'"{text}" is no flag: {error}', key, todo='Such as "--port -p V".')
    return tuple(found)
