"""Writes a safetensors file anew: tensors under other names, some replaced, some left out."""

from __future__ import annotations

import json
import struct
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

_BLOCK = 4 << 20
_MOST_HEADER = 100_000_000  # the reference implementation refuses longer ones


@dataclass(frozen=True, slots=True)
class NewTensor:
    """A tensor that is written in place of another, or beside the others."""

    dtype: str
    shape: tuple[int, ...]
    data: bytes


def offsets_tensor(offsets: Sequence[int]) -> NewTensor:
    """d2t as engines read it."""
    data = array("q", offsets)
    if struct.pack("=H", 1) != struct.pack("<H", 1):
        data.byteswap()
    return NewTensor("I64", (len(offsets),), data.tobytes())


def mask_tensor(marked: Sequence[int], vocab: int) -> NewTensor:
    """t2d: a truth value for each token of the target."""
    known = set(marked)
    return NewTensor("BOOL", (vocab,), bytes(i in known for i in range(vocab)))


def read_header(path: Path) -> tuple[dict[str, Any], int]:
    """The header of a safetensors file and where its data begins. ValueError, OSError."""
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        if size > _MOST_HEADER:
            raise ValueError(f"{path}: a header of {size:,} bytes")
        header = json.loads(file.read(size))
    return header, 8 + size


def rewrite(
    source: Path,
    copy: Path,
    renames: Mapping[str, str],
    replaced: Mapping[str, NewTensor],
    dropped: frozenset[str],
) -> None:
    """Copy `source` to `copy`; `replaced` is by new name, and added where `source` has it not."""
    header, begin = read_header(source)
    kept = {name: entry for name, entry in header.items() if name not in {*dropped, "__metadata__"}}
    order = sorted(kept, key=lambda name: int(kept[name]["data_offsets"][0]))
    named = {name: renames.get(name, name) for name in order}
    added = [name for name in replaced if name not in named.values()]
    written: dict[str, Any] = {}
    if "__metadata__" in header:
        written["__metadata__"] = header["__metadata__"]
    at = 0
    for name in [*order, *added]:
        new = replaced.get(named.get(name, name))
        if new is None:
            first, last = kept[name]["data_offsets"]
            about, size = {k: kept[name][k] for k in ("dtype", "shape")}, last - first
        else:
            about, size = {"dtype": new.dtype, "shape": list(new.shape)}, len(new.data)
        written[named.get(name, name)] = {**about, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(written, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with source.open("rb") as old, copy.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for name in [*order, *added]:
            new = replaced.get(named.get(name, name))
            if new is None:
                first, last = kept[name]["data_offsets"]
                _pour(old, file, begin + first, last - first)
            else:
                file.write(new.data)


def _pour(old: BinaryIO, file: BinaryIO, at: int, size: int) -> None:
    old.seek(at)
    while size > 0:
        block = old.read(min(size, _BLOCK))
        if not block:
            raise EOFError("the file ends before its last tensor does")
        file.write(block)
        size -= len(block)
