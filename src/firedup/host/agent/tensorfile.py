"""The header of a safetensors file: its tensors, and whether the file can hold them."""

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
_MOST_BYTES = 1 << 62
_ANY, _NONE = -1, -2

# A tensor is (begin, end, name, dtype, shape), in bytes from the beginning of its file: plain and
# in this order, since there may be hundreds of thousands, which are to be sorted.


def read_tensors(path: str) -> "tuple[list[Any], dict[str, Any], list[str]]":
    """Tensors in the order of the header, its metadata, and what else is wrong with the file.

    FlawError when the header cannot be read at all.
    """
    source = Source(path)
    try:
        return _read_header(source)
    finally:
        source.close()


def _read_header(source: Source) -> "tuple[list[Any], dict[str, Any], list[str]]":
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


def _take_entries(header: "dict[str, Any]", base: int) -> "tuple[list[Any], list[str]]":
    """The tensors of a header, and the names of those whose entry is none."""
    entries, wrong = [], []
    kinds = {}  # type: dict[Any, tuple[int, tuple[int, ...]]]
    for name, entry in header.items():
        try:
            dtype, (begin, end) = entry["dtype"], entry["data_offsets"]
            key = (dtype, tuple(entry["shape"]))
            kind = kinds.get(key)
            if kind is None:
                kind = kinds[key] = (_tensor_size(*key), key[1])
        except (TypeError, KeyError, ValueError):
            wrong.append(name)
            continue
        size, shape = kind
        is_sound = type(begin) is type(end) is int and 0 <= begin <= end < _MOST_BYTES
        if not is_sound or (size != end - begin and size != _ANY) or len(name) > _MOST_NAME:
            wrong.append(name)
            continue
        entries.append((base + begin, base + end, name, dtype, shape))
    return entries, wrong


def _tensor_size(dtype: "Any", shape: "tuple[Any, ...]") -> int:
    """The bytes of a tensor, _ANY for a dtype that is not known, _NONE for what is no tensor."""
    if type(dtype) is not str or len(dtype) > 32 or len(shape) > _MOST_DIMENSIONS:
        return _NONE
    bits = _BITS.get(dtype)
    for length in shape:
        if type(length) is not int or not 0 <= length < _MOST_BYTES:
            return _NONE
    for length in shape:
        bits = None if bits is None else min(bits * length, 8 * _MOST_BYTES)
    return _ANY if bits is None else bits // 8


def _describe_wrong(names: "list[str]") -> str:
    more = f" and {len(names) - 1:,} more" if len(names) > 1 else ""
    return f"the entry of {names[0][:80]!r}{more} contradicts itself"


def _check_places(entries: "list[Any]", base: int, size: int, *, is_whole: bool) -> "list[str]":
    """What is wrong with where the tensors lie: past the end, over one another, with gaps."""
    flaws = []  # type: list[str]
    at, before = base, ""
    last = max([entry[1] for entry in entries] or [base])
    for begin, end, name, _, _ in sorted(entries):
        if begin != at and not flaws:
            if begin < at:
                flaws.append(f"the bytes of {name[:80]!r} overlap those of {before[:80]!r}")
            elif is_whole:
                flaws.append(f"{begin - at:,} bytes before {name[:80]!r} belong to no tensor")
        at, before = end, name
    if size < last:
        flaws.append(f"{size:,} bytes, but its header needs at least {last:,}")
    elif size > last and is_whole:
        flaws.append(f"{size:,} bytes, {size - last:,} more than its header tells of")
    return flaws
