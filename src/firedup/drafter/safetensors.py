"""Safetensors headers and indices → how long each file must be, and which files there must be."""

from __future__ import annotations

import json

LFS_POINTER = b"version https://git-lfs"
# The reference implementation refuses longer headers.
MAX_HEADER_BYTES = 100_000_000


def header_size(head: bytes) -> int:
    """The bytes of header that follow the first eight. ValueError when it cannot be."""
    if head.startswith(LFS_POINTER):
        raise ValueError("the file is a Git LFS pointer: the weights were never downloaded")
    if len(head) < 8:
        raise ValueError(f"the file has only {len(head)} bytes")
    size = int.from_bytes(head[:8], "little")
    if not 2 <= size <= MAX_HEADER_BYTES:
        raise ValueError(f"its first eight bytes promise a header of {size} bytes")
    return size


def expected_size(header: bytes) -> int:
    """The whole file's size in bytes, going by the `header` (without its length field)."""
    try:
        tensors = json.loads(header)
        ends = [
            int(entry["data_offsets"][1])
            for name, entry in tensors.items()
            if name != "__metadata__"
        ]
    except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
        raise ValueError("its header is not the JSON of a safetensors file") from error
    return 8 + len(header) + max(ends, default=0)


def shards_of(index: bytes) -> tuple[str, ...]:
    """The file names that an index (`*.safetensors.index.json`) refers to, sorted."""
    try:
        names = set(json.loads(index)["weight_map"].values())
        return tuple(sorted(str(name) for name in names))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ValueError("the index has no readable weight_map") from error
