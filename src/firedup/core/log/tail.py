"""The last physical lines of a log, and the last one that a pattern of the caller's met."""

from __future__ import annotations

import re
from collections import deque

from firedup.core.log.line import LIMIT_BYTES, decode_line
from firedup.core.model import Line


class Tail:
    """Feed it all bytes in order.

    `lines` physical lines are kept (within the last 64 KiB and 1 KiB for each). `highlight` is
    searched in every line, as `grep` would; the last hit is kept.
    """

    def __init__(
        self, lines: int, highlight: re.Pattern[str] | None = None, year: int = 1970
    ) -> None:
        self._wanted = lines
        self._limit = LIMIT_BYTES + 1024 * lines
        self._pattern = highlight
        self._year = year
        self._kept: deque[bytes] = deque()
        self._size = 0
        self._open = b""  # the line without end yet, for the pattern
        self.highlight: Line | None = None

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        self._kept.append(data)  # not copied: most of it is never looked at
        self._size += len(data)
        while self._size - len(self._kept[0]) >= self._limit:
            self._size -= len(self._kept.popleft())
        if self._pattern is not None:
            *whole, rest = (self._open + data).split(b"\n")
            for raw in whole:
                line = self._decode(raw)
                if self._pattern.search(line.text):
                    self.highlight = line
            self._open = rest[-LIMIT_BYTES:]

    def lines(self) -> tuple[str, ...]:
        """As many of the last lines as were asked for, oldest first, an unfinished one included."""
        if not self._wanted:
            return ()
        pieces = self._joined().split(b"\n")
        if not pieces[-1]:
            pieces.pop()
        return tuple(raw.decode("utf-8", "replace") for raw in pieces[-self._wanted :])

    def last(self) -> Line | None:
        """The last line that says anything, finished or not; its offset is not known (0)."""
        for raw in reversed(re.split(rb"[\r\n]", self._joined())):
            if raw.strip():
                return self._decode(raw)
        return None

    def newest(self, count: int = 200) -> tuple[Line, ...]:
        """The last `count` records, bars and an unfinished one included, oldest first."""
        pieces = re.split(rb"[\r\n]+", self._joined())
        return tuple(self._decode(raw) for raw in pieces[-count:] if raw.strip())

    def _joined(self) -> bytes:
        return b"".join(self._kept)[-self._limit :]

    def _decode(self, raw: bytes) -> Line:
        return decode_line(raw, offset=0, end=0, number=0, is_progress=False, year=self._year)
