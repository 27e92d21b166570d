"""Bytes of an event stream → the data of its events, however the bytes were sliced."""

from __future__ import annotations

# Cumulative streams repeat the whole text in every event: 16 MiB are some million tokens.
LONGEST_EVENT = 16 * 2**20
_BOM = b"\xef\xbb\xbf"


class SseError(ValueError):
    """The bytes are no event stream that could be held in memory."""


class SseDecoder:
    """Follows one stream of server-sent events; `feed` it bytes, `finish` it at their end.

    An event is given as the value of its `data` lines. Comments, ids, retry times and event names
    mean nothing to the dialects in use and are passed over; a line `error: …`, as older llama.cpp
    writes it, counts as data. Lines end with LF, CR or CRLF.
    """

    __slots__ = ("_data", "_is_plain", "_lead", "_limit", "_rest", "_size", "_skips_lf")

    def __init__(self, limit: int = LONGEST_EVENT) -> None:
        self._limit = limit
        self._lead: bytes | None = b""  # until it is known whether a byte order mark begins it
        self._rest = bytearray()  # the line under way
        self._data: list[bytes] | None = None  # of the event under way
        self._size = 0
        self._skips_lf = False  # the last byte was CR, so that LF is its second half
        self._is_plain = False  # stands between two events, with nothing pending

    @property
    def is_between(self) -> bool:
        """Whether an event has just ended, or none has begun yet."""
        return self._is_plain or self._lead == b""

    def skip(self) -> None:
        """Whole events were taken from between two others, without this."""
        self._lead, self._is_plain = None, True

    def feed(self, data: bytes) -> list[bytes]:
        """The events that end within `data`. SseError when one is longer than the limit."""
        # A server writes each event at once, so that nearly all slices are one whole event.
        if (
            self._is_plain
            and data.startswith(b"data: ")
            and data.find(b"\n") == len(data) - 2
            and data.endswith(b"\n")
            and b"\r" not in data
            and len(data) <= self._limit
        ):
            return [data[6:-2]]
        return self._feed_any(data)

    def finish(self) -> list[bytes]:
        """The event that the end of the stream completed, should its blank line be missing."""
        if self._lead:
            self._add_line(self._lead)
            self._lead = None
        if self._rest:
            self._add_line(bytes(self._rest))
            self._rest.clear()
        event = self._take_event()
        return [] if event is None else [event]

    def _feed_any(self, data: bytes) -> list[bytes]:
        if self._lead is not None:
            data = self._lead + data
            if len(data) < len(_BOM) and _BOM.startswith(data):
                self._lead = data
                return []
            self._lead = None
            data = data.removeprefix(_BOM)
        if self._skips_lf and data:
            data = data.removeprefix(b"\n")
            self._skips_lf = False
        if b"\r" in data:
            self._skips_lf = data.endswith(b"\r")
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        lines = data.split(b"\n")
        last = lines.pop()
        events = []
        for piece in lines:
            line = piece
            if self._rest:
                self._check(len(self._rest) + len(piece))
                line = bytes(self._rest) + piece
                self._rest.clear()
            if line:
                self._add_line(line)
            elif (event := self._take_event()) is not None:
                events.append(event)
        self._rest += last
        self._check(len(self._rest))
        self._is_plain = not self._rest and self._data is None and not self._skips_lf
        return events

    def _add_line(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        if name not in (b"data", b"error"):
            return
        value = value.removeprefix(b" ")
        if self._data is None:
            self._data = []
        self._size += len(line) + 1
        self._check(self._size)
        self._data.append(value)

    def _take_event(self) -> bytes | None:
        data, self._data, self._size = self._data, None, 0
        return b"\n".join(data) if data is not None else None

    def _check(self, size: int) -> None:
        if size > self._limit:
            raise SseError(f"an event of the stream is longer than {self._limit:,} bytes")
