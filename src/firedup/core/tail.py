"""The last physical lines of a log, and the last one that a pattern of the caller's met."""

from __future__ import annotations

import re
from collections import deque

from firedup.core.line import LIMIT_BYTES, decode_line
from firedup.core.model import Line


class Tail:
    """Feed it all bytes in order. Pieces that a carriage return ends count as lines of their own.

    `highlight` is searched in every line as in `grep -i` of a whole line; the last hit is kept.
    """

    def __init__(self, lines: int, highlight: re.Pattern[str] | None = None, year: int = 1970):
        self._lines: deque[bytes] = deque(maxlen=max(1, lines))
        self._wanted = lines
        self._pattern = highlight
        self._year = year
        self._rest = b""
        self._offset = 0
        self.highlight: Line | None = None

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        start = self._offset - len(self._rest)
        pieces = (self._rest + data).split(b"\n")
        self._offset += len(data)
        self._rest = pieces.pop()[-LIMIT_BYTES:]
        if self._pattern is None:
            pieces = pieces[-self._lines.maxlen :] if self._lines.maxlen else pieces
        for raw in pieces:
            self._lines.append(raw)
            if self._pattern is not None:
                line = self._decode(raw, start)
                if self._pattern.search(line.text):
                    self.highlight = line
            start += len(raw) + 1

    def lines(self) -> tuple[str, ...]:
        """As many of the last lines as were asked for, oldest first, an unfinished one included."""
        if not self._wanted:
            return ()
        found = [*self._lines, self._rest] if self._rest else list(self._lines)
        return tuple(raw.decode("utf-8", "replace") for raw in found[-self._wanted :])

    def last(self) -> Line | None:
        """The last line that says anything, finished or not."""
        for raw in (self._rest, *reversed(self._lines)):
            shown = [piece for piece in raw.split(b"\r") if piece.strip()]
            if shown:
                return self._decode(shown[-1], max(0, self._offset - len(raw)))
        return None

    def _decode(self, raw: bytes, offset: int) -> Line:
        return decode_line(
            raw, offset=offset, end=offset + len(raw), number=0, is_progress=False, year=self._year
        )
