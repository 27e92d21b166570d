"""GGUF headers → how long the file must be, and its metadata."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass

MAGIC = b"GGUF"
# GGUF type number → struct format of a scalar. 8 is a string, 9 an array.
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q"}
_SCALARS[12] = "d"
_STRING, _ARRAY = 8, 9
# ggml type number → (values per block, bytes per block). Source: ggml's type traits.
_BLOCKS = {
    0: (1, 4),
    1: (1, 2),
    2: (32, 18),
    3: (32, 20),
    6: (32, 22),
    7: (32, 24),
    8: (32, 34),
    9: (32, 36),
    10: (256, 84),
    11: (256, 110),
    12: (256, 144),
    13: (256, 176),
    14: (256, 210),
    15: (256, 292),
    16: (256, 66),
    17: (256, 74),
    18: (256, 98),
    19: (256, 50),
    20: (32, 18),
    21: (256, 110),
    22: (256, 82),
    23: (256, 136),
    24: (1, 1),
    25: (1, 2),
    26: (1, 4),
    27: (1, 8),
    28: (1, 8),
    29: (256, 56),
    30: (1, 2),
    34: (256, 54),
    35: (256, 66),
    39: (32, 17),
    40: (64, 36),
    41: (128, 18),
}
_KEPT_ITEMS = 64  # of an array; token lists are only counted


class NeedMoreError(Exception):
    """The header goes on behind the bytes given; `size` is a lower bound of what is needed."""

    def __init__(self, size: int) -> None:
        super().__init__(f"{size} bytes are needed")
        self.size = size


@dataclass(frozen=True, slots=True)
class Gguf:
    """What a header says. `expected_bytes` is None when a tensor's type is not known.

    `metadata` holds scalars, strings, and arrays of up to 64 items; longer ones by their length.
    """

    version: int
    tensors: int
    metadata: Mapping[str, object]
    expected_bytes: int | None


def parse_gguf(head: bytes) -> Gguf:
    """Read the header at the beginning of a file.

    Raises NeedMoreError when `head` is too short and ValueError when this is no GGUF file.
    """
    if head[:4] != MAGIC[: len(head)]:
        raise ValueError(f"the file begins with {head[:4]!r} instead of {MAGIC!r}")
    cursor = _Cursor(head, 4)
    version = cursor.scalar("I")
    if version not in (2, 3):
        raise ValueError(f"GGUF version {version} is not known")
    tensors, pairs = cursor.scalar("Q"), cursor.scalar("Q")
    metadata: dict[str, object] = {}
    for _ in range(pairs):
        key = cursor.string()
        metadata[key] = cursor.value(cursor.scalar("I"))
    end, is_known = 0, True
    for _ in range(tensors):
        cursor.string()
        values = 1
        for _ in range(cursor.scalar("I")):
            values *= cursor.scalar("Q")
        kind, offset = cursor.scalar("I"), cursor.scalar("Q")
        if kind not in _BLOCKS:
            is_known = False
            continue
        per_block, block_bytes = _BLOCKS[kind]
        end = max(end, offset + values // per_block * block_bytes)
    alignment = metadata.get("general.alignment", 32)
    step = alignment if isinstance(alignment, int) and alignment > 0 else 32
    data = -(-cursor.at // step) * step
    return Gguf(version, tensors, metadata, data + end if is_known else None)


class _Cursor:
    """Reads little-endian values one after the other."""

    def __init__(self, data: bytes, at: int) -> None:
        self._data = data
        self.at = at

    def take(self, size: int) -> bytes:
        stop = self.at + size
        if stop > len(self._data):
            raise NeedMoreError(stop)
        found = self._data[self.at : stop]
        self.at = stop
        return found

    def scalar(self, form: str) -> int:
        value: int = struct.unpack("<" + form, self.take(struct.calcsize("<" + form)))[0]
        return value

    def string(self) -> str:
        return self.take(self.scalar("Q")).decode("utf-8", "replace")

    def value(self, kind: int) -> object:
        if kind == _STRING:
            return self.string()
        if kind == _ARRAY:
            return self._array()
        if kind not in _SCALARS:
            raise ValueError(f"metadata type {kind} is not known")
        return self.scalar(_SCALARS[kind])

    def _array(self) -> object:
        kind, count = self.scalar("I"), self.scalar("Q")
        if kind in _SCALARS:
            size = struct.calcsize("<" + _SCALARS[kind])
            raw = self.take(size * count)
            if count > _KEPT_ITEMS:
                return count
            return struct.unpack(f"<{count}{_SCALARS[kind]}", raw)
        items = tuple(self.value(kind) for _ in range(min(count, _KEPT_ITEMS)))
        for _ in range(count - len(items)):
            self.value(kind)
        return items if count <= _KEPT_ITEMS else count
