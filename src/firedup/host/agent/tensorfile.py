"""The header of a safetensors file: its tensors, and whether the file can hold them."""

import collections

from firedup.host.agent.document import IS_POINTER, POINTER, FlawError, Source, parse_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MOST_HEADER = 100000000  # bytes; the reference implementation refuses longer ones
_BITS = {
    "BOOL": 8, "U8": 8, "I8": 8, "F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8, "F8_E4M3FNUZ": 8,
    "F8_E5M2FNUZ": 8, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "I16": 16, "U16": 16, "F16": 16,
    "BF16": 16, "I32": 32, "U32": 32, "F32": 32, "I64": 64, "U64": 64, "F64": 64, "C64": 64,
}  # fmt: skip
_MOST_NAME = 1024
_MOST_DIMENSIONS = 16

# `begin` and `end` count from the beginning of the file.
Entry = collections.namedtuple("Entry", ["name", "dtype", "shape", "begin", "end"])  # noqa: PYI024 - typing costs memory


def read_tensors(path: str) -> "tuple[list[Entry], dict[str, Any], list[str]]":
    """Tensors in the order of the header, its metadata, and what else is wrong with the file.

    FlawError when the header cannot be read at all.
    """
    source = Source(path)
    try:
        return _read_header(source)
    finally:
        source.close()


def _read_header(source: Source) -> "tuple[list[Entry], dict[str, Any], list[str]]":
    head = source.read(0, min(source.size, max(8, len(POINTER))))
    if head.startswith(POINTER):
        raise FlawError(IS_POINTER)
    if len(head) < 8:
        raise FlawError(f"only {len(head)} bytes")
    size = int.from_bytes(head[:8], "little")
    if not 2 <= size <= _MOST_HEADER:
        raise FlawError(f"its first eight bytes promise a header of {size:,} bytes")
    if source.size < 8 + size:
        raise FlawError(f"{source.size:,} bytes, but its header needs at least {8 + size:,}")
    value = parse_json(source.read(8, size))
    if not isinstance(value, dict):
        raise FlawError("its header is not the JSON of a safetensors file")
    metadata = value.pop("__metadata__", {})
    entries, wrong = _take_entries(value, 8 + size)
    flaws = [_describe_wrong(wrong)] if wrong else []
    flaws += _check_places(entries, 8 + size, source.size, is_whole=not wrong)
    if source.has_changed:
        flaws.append("it changed while it was read")
    return entries, metadata if isinstance(metadata, dict) else {}, flaws


def _take_entries(header: "dict[str, Any]", base: int) -> "tuple[list[Entry], list[str]]":
    """The tensors of a header, and the names of those whose entry is none."""
    entries, wrong = [], []
    for name, entry in header.items():
        try:
            dtype, shape, (begin, end) = entry["dtype"], entry["shape"], entry["data_offsets"]
        except (TypeError, KeyError, ValueError):
            wrong.append(name)
            continue
        is_sound = type(dtype) is str and type(shape) is list and type(begin) is type(end) is int
        if not is_sound or not 0 <= begin <= end or end >= 1 << 62 or len(name) > _MOST_NAME:
            wrong.append(name)
            continue
        values = 1
        for length in shape:
            if type(length) is not int or length < 0:
                values = -1
                break
            values *= length
            if values >= 1 << 62:
                break
        bits = _BITS.get(dtype)
        is_long = len(shape) > _MOST_DIMENSIONS or len(dtype) > 32
        if is_long or values < 0 or (bits is not None and values * bits != 8 * (end - begin)):
            wrong.append(name)
            continue
        entries.append(Entry(name, dtype, tuple(shape), base + begin, base + end))
    return entries, wrong


def _describe_wrong(names: "list[str]") -> str:
    more = f" and {len(names) - 1:,} more" if len(names) > 1 else ""
    return f"the entry of {names[0][:80]!r}{more} contradicts itself"


def _check_places(entries: "list[Entry]", base: int, size: int, *, is_whole: bool) -> "list[str]":
    """What is wrong with where the tensors lie: past the end, over one another, with gaps."""
    flaws = []
    at, before = base, ""
    for name, _, _, begin, end in sorted(entries, key=lambda entry: entry[3:]):
        if begin < at:
            flaws.append(f"the bytes of {name[:80]!r} overlap those of {before[:80]!r}")
            break
        if begin > at and is_whole:
            flaws.append(f"{begin - at:,} bytes before {name[:80]!r} belong to no tensor")
            break
        at, before = end, name
    end = max([entry.end for entry in entries] or [base])
    if size < end:
        flaws.append(f"{size:,} bytes, but its header needs at least {end:,}")
    elif size > end and is_whole:
        flaws.append(f"{size:,} bytes, {size - end:,} more than its header tells of")
    return flaws
