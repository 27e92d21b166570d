"""The header of a GGUF file: metadata, tokens and tensors."""

import os
import struct

from firedup.host.agent.document import IS_POINTER, POINTER, FlawError, Source
from firedup.host.agent.file import open_regular
from firedup.host.agent.system import AgentError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MAGIC = b"GGUF"
_FORMS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
# ggml type number → (name, values per block, bytes per block). Source: ggml's type traits.
GGML_TYPES = {
    0: ("F32", 1, 4), 1: ("F16", 1, 2), 2: ("Q4_0", 32, 18), 3: ("Q4_1", 32, 20),
    6: ("Q5_0", 32, 22), 7: ("Q5_1", 32, 24), 8: ("Q8_0", 32, 34), 9: ("Q8_1", 32, 36),
    10: ("Q2_K", 256, 84), 11: ("Q3_K", 256, 110), 12: ("Q4_K", 256, 144), 13: ("Q5_K", 256, 176),
    14: ("Q6_K", 256, 210), 15: ("Q8_K", 256, 292), 16: ("IQ2_XXS", 256, 66),
    17: ("IQ2_XS", 256, 74), 18: ("IQ3_XXS", 256, 98), 19: ("IQ1_S", 256, 50),
    20: ("IQ4_NL", 32, 18), 21: ("IQ3_S", 256, 110), 22: ("IQ2_S", 256, 82),
    23: ("IQ4_XS", 256, 136), 24: ("I8", 1, 1), 25: ("I16", 1, 2), 26: ("I32", 1, 4),
    27: ("I64", 1, 8), 28: ("F64", 1, 8), 29: ("IQ1_M", 256, 56), 30: ("BF16", 1, 2),
    34: ("TQ1_0", 256, 54), 35: ("TQ2_0", 256, 66), 39: ("MXFP4", 32, 17), 40: ("NVFP4", 64, 36),
    41: ("Q1_0", 128, 18),
}  # fmt: skip
_MOST_HEADER_BYTES = 96 << 20
_MOST_VALUES = 4000000  # strings and arrays, those inside of arrays counted
_MOST_ITEMS = 64  # of an array; longer ones are told by their length
_MOST_TEXT = 65536
_MOST_PAIRS = 100000
_MOST_TENSORS = 1000000
_DEEPEST = 4
_LEAST_BYTES = 24


class GgufHead:
    """What a header says: `tokens` and `token_types` are those of its tokenizer."""

    def __init__(self) -> None:
        self.version = 0
        self.metadata = {}  # type: dict[str, Any]
        self.tokens = []  # type: list[str]
        self.token_types = ()  # type: tuple[int, ...]
        self.entries = []  # type: list[Any]
        self.flaws = []  # type: list[str]
        self.expected_size = None  # type: int | None


def is_gguf(path: str) -> bool:
    """Whether a file is meant as one of GGUF, by its name or by how it begins."""
    return path.endswith(".gguf") or begin_of(path, 4) == _MAGIC


def begin_of(path: str, size: int) -> bytes:
    """The first bytes of a file; fewer of a shorter one, none of what cannot be read."""
    try:
        file = open_regular(path)
    except (AgentError, OSError, ValueError):
        return b""
    try:
        return os.pread(file, size, 0)
    finally:
        os.close(file)


def read_gguf(path: str) -> GgufHead:
    """The header of the file at `path`. FlawError when it cannot be read at all."""
    source = Source(path)
    try:
        head = _read_gguf_head(_Cursor(source), source.size)
        if source.has_changed:
            head.flaws.append("it changed while it was read")
    finally:
        source.close()
    return head


def _read_gguf_head(cursor: "_Cursor", size: int) -> GgufHead:
    magic = cursor.take(min(size, len(POINTER)))
    if magic == POINTER:
        raise FlawError(IS_POINTER)
    if magic[:4] != _MAGIC[: len(magic)]:
        raise FlawError(f"the file begins with {magic[:4]!r} instead of {_MAGIC!r}")
    if size < _LEAST_BYTES:
        raise FlawError(f"{size:,} bytes, but its header needs at least {_LEAST_BYTES}")
    cursor.at = 4
    head = GgufHead()
    head.version = cursor.number("I")
    if head.version not in (2, 3):
        raise FlawError(f"GGUF version {head.version} is not known")
    tensors, pairs = cursor.number("Q"), cursor.number("Q")
    if tensors > _MOST_TENSORS or pairs > _MOST_PAIRS:
        raise FlawError(f"it promises {tensors:,} tensors and {pairs:,} pairs of metadata")
    for _ in range(pairs):
        key = cursor.text()[:256]
        kind = cursor.number("I")
        if key == "tokenizer.ggml.tokens" and kind == _ARRAY:
            head.tokens = cursor.texts()
            head.metadata[key] = len(head.tokens)
        elif key == "tokenizer.ggml.token_type" and kind == _ARRAY:
            found = cursor.array(1, most=1 << 30)
            head.token_types = found if isinstance(found, tuple) else ()
            head.metadata[key] = len(head.token_types)
        else:
            head.metadata[key] = cursor.value(kind, 0)
    places = [_read_place(cursor) for _ in range(tensors)]
    alignment = head.metadata.get("general.alignment", 32)
    step = alignment if isinstance(alignment, int) and 0 < alignment <= 1 << 20 else 32
    _place(head, places, -(-cursor.at // step) * step, size)
    return head


def _read_place(cursor: "_Cursor") -> "tuple[str, tuple[int, ...], int, int]":
    name = cursor.text()[:1024]
    dimensions = cursor.number("I")
    if dimensions > 16:
        raise FlawError(f"its tensor {name[:80]!r} has {dimensions:,} dimensions")
    lengths = [cursor.number("Q") for _ in range(dimensions)]
    return name, tuple(reversed(lengths)), cursor.number("I"), cursor.number("Q")


def _place(
    head: GgufHead, places: "list[tuple[str, tuple[int, ...], int, int]]", base: int, size: int
) -> None:
    """Where each tensor lies; one of a type that is not known ends where it begins."""
    end = base
    is_known = True
    for name, shape, kind, offset in places:
        values = 1
        for length in shape:
            values *= length
        dtype, per_block, block_bytes = GGML_TYPES.get(kind, (f"ggml-{kind}", 1, 0))
        is_known = is_known and kind in GGML_TYPES
        begin = base + offset
        stop = begin + values // per_block * block_bytes
        if stop >= 1 << 62:
            head.flaws.append(f"its tensor {name[:80]!r} cannot be so large")
            continue
        end = max(end, stop)
        head.entries.append((begin, stop, name, dtype, shape))
    if is_known:
        head.expected_size = end
        if size < end:
            head.flaws.append(f"{size:,} bytes, but its header needs at least {end:,}")


class _Cursor:
    """Reads little-endian values one after the other from a file, which it loads as needed."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._data = b""
        self._left = _MOST_VALUES
        self.at = 0

    def take(self, size: int) -> bytes:
        stop = self.at + size
        if stop > len(self._data):
            self._load(stop)
        found = self._data[self.at : stop]
        self.at = stop
        return found

    def _load(self, stop: int) -> None:
        if stop > self._source.size:
            raise FlawError(f"{self._source.size:,} bytes, but its header needs at least {stop:,}")
        if stop > _MOST_HEADER_BYTES:
            raise FlawError(f"its header takes more than {_MOST_HEADER_BYTES:,} bytes")
        have = len(self._data)
        whole = min(self._source.size, max(stop, 2 * have, 1 << 20), _MOST_HEADER_BYTES)
        self._data += self._source.read(have, whole - have)

    def number(self, form: str) -> "Any":
        return struct.unpack("<" + form, self.take(struct.calcsize("<" + form)))[0]

    def _count(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise FlawError(f"its header holds more than {_MOST_VALUES:,} strings and arrays")

    def text(self) -> str:
        self._count()
        return self.take(self.number("Q"))[:_MOST_TEXT].decode("utf-8", "replace")

    def texts(self) -> "list[str]":
        """An array of strings, one million at most."""
        kind, count = self.number("I"), self.number("Q")
        if kind != _STRING or count > 1000000:
            raise FlawError("the list of its tokens is none")
        return [self.text() for _ in range(count)]

    def value(self, kind: int, depth: int) -> "Any":
        if kind == _STRING:
            return self.text()
        if kind == _ARRAY:
            return self.array(depth + 1)
        if kind not in _FORMS:
            raise FlawError(f"metadata of type {kind} is not known")
        return self.number(_FORMS[kind])

    def array(self, depth: int, most: int = _MOST_ITEMS) -> "Any":
        """The items, or how many there are when they are more than `most`."""
        self._count()
        kind, count = self.number("I"), self.number("Q")
        if depth > _DEEPEST:
            raise FlawError("its metadata is nested too deep")
        if kind in _FORMS:
            raw = self.take(struct.calcsize("<" + _FORMS[kind]) * count)
            return struct.unpack(f"<{count}{_FORMS[kind]}", raw) if count <= most else count
        items = []  # type: list[Any]
        for _ in range(count):
            item = self.value(kind, depth)
            if len(items) < most:
                items.append(item)
        return tuple(items) if count <= most else count
