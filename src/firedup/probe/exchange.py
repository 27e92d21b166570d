"""One answer as it arrives: its bytes with their stamps, taken apart a batch at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import repeat
from typing import Protocol

from firedup.core.measure.sse import SseDecoder, SseError
from firedup.core.measure.stream import BETWEEN, StreamReader

# So many bytes are kept before they are looked at: taking them apart then costs a quarter of a
# millisecond, which is all that one stream can delay the stamps of another.
BATCH_BYTES = 64 * 2**10
# An answer in one piece, or the body of an error.
LARGEST_BODY = 64 * 2**20
# The last piece with its reason to end, the usage, the end mark.
_LAST_EVENTS = 3
_FEW = 4
_NEXT = b"}%b{" % BETWEEN


class Events(Protocol):
    """Where events go."""

    def take(self, payloads: Sequence[bytes], stamps: Sequence[int]) -> None:
        """Take the data of events, event i having arrived at `stamps[i]`."""

    def take_joined(self, joined: bytes, stamps: Sequence[int], sample: bytes) -> bool:
        """Take events in one array; whether that could be done."""


def _make_events(*, is_native: bool) -> tuple[StreamReader, Events]:
    """The quick way to take events; the plain one on a far host, where msgspec is not to be had."""
    try:
        from firedup.probe.chunk import EventReader, read_json  # noqa: PLC0415 - needs msgspec
    except ImportError:
        reader = StreamReader()
        return reader, _PlainEvents(reader)
    reader = StreamReader(read_json)
    return reader, EventReader(reader, is_native=is_native)


class _PlainEvents:
    """Takes events one by one."""

    def __init__(self, reader: StreamReader) -> None:
        self._reader = reader

    def take(self, payloads: Sequence[bytes], stamps: Sequence[int]) -> None:
        for at_ns, payload in zip(stamps, payloads, strict=True):
            self._reader.take(at_ns, payload)

    def take_joined(self, joined: bytes, stamps: Sequence[int], sample: bytes) -> bool:
        return not (joined or stamps or sample)


class Exchange:
    """The answer to one request. Times are nanoseconds of the monotonic clock.

    The connection calls `start`, has the parts of the body appended to `parts`, keeps in `stamps`
    a time for each of them, and calls `look` when `size` has come to BATCH_BYTES. At last it calls
    `finish`. `problem` says what was wrong with the bytes themselves.
    """

    __slots__ = (
        "_decoder",
        "_events",
        "_is_stream",
        "content",
        "headers",
        "last_ns",
        "parts",
        "problem",
        "reader",
        "size",
        "stamps",
        "status",
    )

    def __init__(self, *, is_native: bool = False) -> None:
        self.status: int | None = None
        self.headers: Mapping[str, str] = {}
        self.parts: list[bytes] = []  # of the body, not yet looked at
        self.last_ns: int | None = None  # when the newest bytes of the body came
        self.problem: str | None = None
        self.content = bytearray()  # of an answer that is no stream
        self.reader, self._events = _make_events(is_native=is_native)
        self._decoder = SseDecoder()
        self.stamps: list[int] = []
        self.size = 0
        self._is_stream: bool | None = None

    @property
    def is_stream(self) -> bool:
        """Whether the answer came as events; known for sure once it is complete."""
        return bool(self._is_stream)

    def start(self, status: int, headers: Mapping[str, str]) -> None:
        """The head is there."""
        self.status, self.headers = status, headers
        coding = headers.get("content-encoding", "identity")
        if coding not in ("identity", ""):
            self.problem = f"the answer is compressed ({coding}), which was not asked for"

    def mark(self, at_ns: int, nbytes: int) -> bool:
        """Bytes came at `at_ns`, whatever they held; whether more are worth to be waited for."""
        self.stamps += [at_ns] * (len(self.parts) - len(self.stamps))
        self.size += nbytes
        return self.size < BATCH_BYTES or self.look()

    def align(self, at_ns: int) -> None:
        """Bytes came at `at_ns` and one stamp was added, but they were not exactly one part."""
        del self.stamps[len(self.parts) :]
        self.stamps += [at_ns] * (len(self.parts) - len(self.stamps))

    def look(self) -> bool:
        """Look at what has come; whether more is worth to be waited for."""
        self._drain()
        return self.problem is None

    def newest_ns(self) -> int | None:
        """When the newest text came, None before the first; mere comments are none."""
        self._drain()
        if self._is_stream:
            return self.reader.at_ns[-1] if self.reader.at_ns else None
        return self.last_ns

    def finish(self) -> None:
        """No more bytes come, be the answer complete or not."""
        self._drain(is_last=True)
        if self._is_stream and self.problem is None and self.last_ns is not None:
            events = self._decoder.finish()
            self._events.take(events, [self.last_ns] * len(events))

    def _drain(self, *, is_last: bool = False) -> None:
        """Look at what has come since the last time."""
        parts, stamps = self.parts.copy(), self.stamps
        self.parts.clear()  # the parser holds on to this very list
        self.stamps, self.size = [], 0
        if not parts or self.problem is not None:
            return
        self.last_ns = stamps[-1]
        if self._is_stream is None:
            self._is_stream = self._looks_like_stream(parts[0])
        if not self._is_stream:
            self.content += b"".join(parts)
            if len(self.content) > LARGEST_BODY:
                self.problem = f"the answer is longer than {LARGEST_BODY >> 20} MiB"
            return
        # The last events say more than text, and are taken one by one.
        quick = len(parts) - (_LAST_EVENTS if is_last else 0)
        if quick < _FEW or not self._take_whole(parts[:quick], stamps[:quick]):
            quick = 0
        try:
            self._take_any(parts[quick:], stamps[quick:])
        except SseError as error:
            self.problem = str(error)

    def _take_whole(self, parts: list[bytes], stamps: list[int]) -> bool:
        """Take parts of which each is one event, as servers write them, all at once if they are."""
        if not (
            self._decoder.is_between
            and parts[0].startswith(b"data: {")
            and all(map(bytes.endswith, parts, repeat(b"}\n\n")))
        ):
            return False
        joined = b"".join(parts)[6:-2].replace(b"}\n\ndata: {", _NEXT)
        # Another line end would be one within an event, or of an event that is no such object.
        if b"\r" in joined or joined.count(b"\n") != len(parts) - 1:
            return False
        if not self._events.take_joined(joined, stamps, parts[-1][6:-2]):
            return False
        self._decoder.skip()
        return True

    def _take_any(self, parts: list[bytes], stamps: list[int]) -> None:
        feed = self._decoder.feed
        payloads: list[bytes] = []
        at_ns: list[int] = []
        try:
            for at, part in zip(stamps, parts, strict=True):
                found = feed(part)
                payloads += found
                at_ns += [at] * len(found)
        finally:
            self._events.take(payloads, at_ns)

    def _looks_like_stream(self, first: bytes) -> bool:
        """By what the server says of it, unless its first bytes say otherwise."""
        if self.status is not None and self.status != 200:
            return False
        if first.lstrip()[:1] in (b"{", b"["):
            return False
        said = self.headers.get("content-type", "").lower()
        return said.startswith("text/event-stream") or first.startswith((b"data:", b"event:"))
