"""Values out of parsed JSON that may be anything: a number, a text, a mapping, or nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_NONE: Mapping[str, Any] = {}


def whole(config: Mapping[str, Any], *keys: str) -> int | None:
    """The first of `keys` that holds a whole number of 0 or more."""
    for key in keys:
        value = config.get(key)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 62:
            return value
    return None


def text(config: Mapping[str, Any], *keys: str) -> str | None:
    """The first of `keys` that holds a text which is not empty."""
    found = (config.get(key) for key in keys)
    return next((value for value in found if isinstance(value, str) and value), None)


def inner(config: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
    """The first of `keys` that holds a mapping which is not empty, else an empty one."""
    found = (config.get(key) for key in keys)
    return next((value for value in found if isinstance(value, Mapping) and value), _NONE)


def integers(value: object) -> tuple[int, ...] | None:
    """A list of whole numbers; None for anything else."""
    if not isinstance(value, list | tuple):
        return None
    if any(isinstance(item, bool) or not isinstance(item, int) for item in value):
        return None
    return tuple(value)


def architecture(config: Mapping[str, Any]) -> str:
    """The first name in `architectures`, "" where there is none."""
    names = config.get("architectures")
    if isinstance(names, list) and names and isinstance(names[0], str):
        return names[0]
    return ""
