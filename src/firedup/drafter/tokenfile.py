"""A file of token ids, such as a prepared training text → how often each of them comes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from firedup.core.error import UsageError

_KEYS = ("token_ids", "output_ids", "input_ids", "tokens")  # of an object, the first that is there
_MASK = "loss_mask"  # marks the tokens that the target said
_MOST_BYTES, _MOST_LINE = 1 << 30, 64 << 20
_FORM = 'Each line is a list of token ids, or an object with "token_ids" or "input_ids".'


def count_tokens(path: str) -> Mapping[int, int]:
    """Id → how often it comes. UsageError for a file that is not read as ids.

    A line is a JSON list of ids, ids between blanks, or a JSON object with a list under one of a
    few names; where it has a `loss_mask`, tokens with a zero there are left out.
    """
    place = Path(path).expanduser()
    counts: Counter[int] = Counter()
    try:
        if not place.is_file() or place.stat().st_size > _MOST_BYTES:
            why = f"of 1 GiB at most: {place}" if place.is_file() else f": {place}"
            raise UsageError(f"--tokens is no file {why}", todo=_FORM)
        with place.open("rb") as file:
            number = 0
            while line := file.readline(_MOST_LINE):
                number += 1
                if line.strip():
                    counts.update(_ids(line, f"{place}:{number}"))
    except OSError as error:
        raise UsageError(f"cannot read {place}", why=error.strerror or str(error)) from error
    if not counts:
        raise UsageError(f"{place} holds no token ids", todo=_FORM)
    return counts


def _ids(line: bytes, where: str) -> Iterable[int]:
    try:
        value = json.loads(line if line.lstrip()[:1] in (b"[", b"{") else _as_list(line))
    except (ValueError, RecursionError) as error:
        raise UsageError("a line is not JSON", where=where, why=str(error), todo=_FORM) from error
    mask = None
    if isinstance(value, dict):
        mask = value.get(_MASK)
        value = next((value[key] for key in _KEYS if key in value), None)
    if not isinstance(value, list) or not all(type(one) is int and one >= 0 for one in value):
        raise UsageError("a line holds no list of token ids", where=where, todo=_FORM)
    if not isinstance(mask, list):
        return value
    return [one for one, counts in zip(value, mask, strict=False) if counts]


def _as_list(line: bytes) -> bytes:
    return b"[" + b",".join(line.split()) + b"]"
