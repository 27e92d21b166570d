"""Blocks of bytes → the few lines that matter, without decoding the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from firedup.core.log.colour import PlainBlock
from firedup.core.log.line import LIMIT_BYTES, decode_line
from firedup.core.log.numbering import count_newlines
from firedup.core.model import Line
from firedup.core.rule import Matcher

# Gauge lines are read in full at the beginning of a log and sampled at the head of each later
# window: a long serving phase holds millions of them. Windows lie at fixed offsets, so slicing
# changes nothing; they are larger far from the beginning. The newest lines are looked for in the
# last bytes of the log.
WINDOW_BYTES = 1 << 22
NEAR_WINDOWS = 16
FAR_WINDOW_BYTES = 1 << 25
FIRST_HEAD_BYTES = 1 << 20
HEAD_BYTES = 1 << 14
GAUGES_IN_FIRST_WINDOW = 256
GAUGES_IN_LATER_WINDOWS = 1

_LF, _CR, _ESC = 0x0A, 0x0D, 0x1B


class Sieve:
    """Feed it the bytes of one log in order; it yields candidate lines in order.

    After each yielded line the sieve asks `wants_more`: while that is true the following lines
    are yielded too, whatever they say (a traceback is being folded). A piece that ends in CR is
    yielded once the next byte shows that no LF follows. Not every line is yielded, but all that a
    rule or an opener matches are. `Line.number` is 0 when `counts_lines` is false: counting costs
    as much as scanning, and who can read the log again may count for the few lines it shows.
    `start` is the offset of the first byte that will be fed, and the lines before it.
    """

    def __init__(
        self,
        matcher: Matcher,
        wants_more: Callable[[], bool],
        year: int = 1970,
        *,
        counts_lines: bool = True,
        start: tuple[int, int] = (0, 0),
    ) -> None:
        self._matcher = matcher
        self._wants_more = wants_more
        self._year = year
        self._rest = b""
        self._rest_offset, self._newlines = start
        self._dropped = 0  # bytes of an overlong unfinished record that were not kept
        self._counts_lines = counts_lines
        self._gauges = _GaugeBudget(matcher.gauge_literals)

    @property
    def has_sampled_gauges(self) -> bool:
        """Whether gauge lines were left out."""
        return self._gauges.has_skipped

    @property
    def lines(self) -> int:
        """Line ends seen so far."""
        return self._newlines

    @property
    def size(self) -> int:
        """Bytes seen so far: the offset at which the next block must start."""
        return self._rest_offset + len(self._rest) + self._dropped

    def feed(self, data: bytes) -> Iterator[Line]:
        """Take the next bytes of the log; the iterator must be used up before the next call."""
        if self._dropped and self._rest[-1] != _CR:
            cut = _first_end(data)
            if cut < 0:
                self._dropped += len(data)
                return
            # The overlong record ends here; its kept head stands for all of it.
            self._dropped += cut
            data = data[cut:]
        # The kept record is completed by itself: to join it to the whole block costs a copy.
        start = self._missing(data) if self._rest else 0
        if start < 0:
            self._keep(self._rest + data)
            return
        if self._rest:
            head = self._rest + data[:start]
            yield from self._complete(head, 0, len(head))
        end = max(start, _last_decidable_end(data))
        if end > start:
            yield from self._complete(data, start, end)
        self._keep(data[end:])

    def _missing(self, data: bytes) -> int:
        """How many bytes of `data` complete the kept record; -1 when they do not tell."""
        if self._rest[-1] == _CR:
            return -1 if not data else int(data[0] == _LF)
        end = _first_end(data)
        if end < 0 or data[end] == _LF:
            return end + 1 if end >= 0 else -1
        if end + 1 == len(data):
            return -1
        return end + 2 if data[end + 1] == _LF else end + 1

    def close(self) -> Iterator[Line]:
        """The log has ended: the last record may lack its end."""
        if self._rest:
            has_end = self._rest[-1] in (_LF, _CR)
            block = self._rest if has_end else self._rest + b"\n"
            yield from self._complete(block, 0, len(block))
            self._rest_offset -= 0 if has_end else 1
            self._rest = b""

    def unfinished(self) -> Line | None:
        """The record that has no end yet, such as the state of a bar that CR will overwrite."""
        raw = self._rest.strip(b"\r\n")
        if not raw:
            return None
        start = self._rest_offset + self._rest.find(raw[:1])
        number = self._newlines + 1 if self._counts_lines else 0
        return self._line(raw, start, self.size, number, is_progress=True)

    def newest_gauges(self) -> Iterator[Line]:
        """The newest gauge line of each kind, sampled or not (call it when a reading is wanted)."""
        for offset, raw in self._gauges.newest(self._rest_offset):
            yield self._line(raw, offset, offset + len(raw), 0, is_progress=False)

    def _complete(self, block: bytes, start: int, size: int) -> Iterator[Line]:
        """Yield the candidates of `block[start:size]`, which are whole records.

        They begin where the last ones ended.
        """
        # Bytes that were not kept are missing just before the first record's end.
        first_end = _first_end(block) if self._dropped else -1
        base = self._rest_offset - start
        cursor = start
        for position in self._candidates(block, start, size, base):
            while cursor <= position:
                if not self._wants_more():
                    begin = _record_start(block, position)
                    self._count(block, cursor, begin)
                    cursor = begin
                line, cursor = self._take(block, cursor, first_end, base)
                if line is not None:
                    yield line
        while cursor < size and self._wants_more():
            line, cursor = self._take(block, cursor, first_end, base)
            if line is not None:
                yield line
        self._count(block, cursor, size)
        self._rest_offset = base + size + self._dropped
        self._dropped = 0

    def _take(self, block: bytes, start: int, first_end: int, base: int) -> tuple[Line | None, int]:
        """The record at `start` (None when it is empty) and where the next one begins."""
        stop = _record_end(block, start)
        raw, number = block[start:stop], self._newlines + 1 if self._counts_lines else 0
        if block[stop : stop + 2] == b"\r\n":
            stop += 1
        if block[stop] == _LF:
            self._newlines += 1
        if not raw:
            return None, stop + 1
        offset = base + start + (self._dropped if start > first_end else 0)
        end = base + stop + 1 + (self._dropped if stop >= first_end else 0)
        line = self._line(raw, offset, end, number, is_progress=block[stop] == _CR)
        return line, stop + 1

    def _count(self, block: bytes, start: int, stop: int) -> None:
        if self._counts_lines:
            self._newlines += count_newlines(block, start, stop)

    def _line(self, raw: bytes, offset: int, end: int, number: int, *, is_progress: bool) -> Line:
        return decode_line(
            raw, offset=offset, end=end, number=number, is_progress=is_progress, year=self._year
        )

    def _candidates(self, block: bytes, start: int, size: int, base: int) -> list[int]:
        """Positions in `block[start:size]`, which lies at `base + start` of the log."""
        gauges = self._gauges.take(block, start, size, base)
        if _ESC in block:  # colour codes may stand inside a message
            plain = PlainBlock(block)
            found = plain.places(self._matcher.scan(plain.text))
        else:
            found = self._matcher.scan(block)
        if found and (found[0] < start or found[-1] >= size):
            found = [at for at in found if start <= at < size]
        return sorted({*found, *gauges}) if gauges else found

    def _keep(self, rest: bytes) -> None:
        """Keep the beginning of a record that has no end yet, at most LIMIT_BYTES and one more."""
        tail = b"\r" if rest.endswith(b"\r") else b""
        body = rest[: len(rest) - len(tail)]
        if len(body) > LIMIT_BYTES + 1:
            self._dropped += len(body) - (LIMIT_BYTES + 1)
            body = body[: LIMIT_BYTES + 1]
        self._rest = body + tail


class _GaugeBudget:
    """Which gauge lines are read: all at the log's beginning, a few in the head of each window."""

    def __init__(self, literals: tuple[bytes, ...]) -> None:
        self._literals = literals
        self._used: dict[bytes, tuple[int, int]] = {}  # literal → window, lines read in it
        self._recent = b""  # the last bytes of the log
        self.has_skipped = False

    def newest(self, end: int) -> Iterator[tuple[int, bytes]]:
        """Offset and bytes of the newest line of each kind near `end`, the log's size so far."""
        for literal in self._literals:
            last = self._recent.rfind(literal)
            start = _record_start(self._recent, last) if last >= 0 else 0
            if start:  # else the line's beginning is not here any more
                raw = self._recent[start : _record_end(self._recent, last)]
                yield end - len(self._recent) + start, raw

    def take(self, block: bytes, start: int, size: int, base: int) -> list[int]:
        """Positions of the gauge lines to be read in `block[start:size]`; `block` is at `base`."""
        whole = block[max(start, size - HEAD_BYTES) : size]
        self._recent = (self._recent + whole)[-HEAD_BYTES:] if len(whole) < HEAD_BYTES else whole
        positions: list[int] = []
        for window in range(_window_at(base + start), _window_at(base + size) + 1):
            begin = _window_start(window) - base
            first = max(start, begin)
            head = HEAD_BYTES if window else min(FIRST_HEAD_BYTES, WINDOW_BYTES)
            stop = min(size, begin + head)
            self.has_skipped |= size > begin + head
            if first < stop:
                for literal in self._literals:
                    positions += self._of(literal, block, first, stop, window)
        return positions

    def _of(
        self, literal: bytes, block: bytes, first: int, stop: int, window: int
    ) -> Iterator[int]:
        at = block.find(literal, first, stop)
        while at >= 0:
            if not self._spend(literal, window):
                self.has_skipped = True
                return
            yield at
            at = block.find(literal, _record_end(block, at), stop)

    def _spend(self, literal: bytes, window: int) -> bool:
        """Whether one more line of `literal` may be read in `window`."""
        limit = GAUGES_IN_LATER_WINDOWS if window else GAUGES_IN_FIRST_WINDOW
        seen_in, used = self._used.get(literal, (window, 0))
        used = used if seen_in == window else 0
        if used < limit:
            self._used[literal] = (window, used + 1)
        return used < limit


def _window_at(offset: int) -> int:
    """The number of the window in which gauges at `offset` are sampled."""
    far = offset - NEAR_WINDOWS * WINDOW_BYTES
    return offset // WINDOW_BYTES if far < 0 else NEAR_WINDOWS + far // FAR_WINDOW_BYTES


def _window_start(window: int) -> int:
    far = window - NEAR_WINDOWS
    if far < 0:
        return window * WINDOW_BYTES
    return NEAR_WINDOWS * WINDOW_BYTES + far * FAR_WINDOW_BYTES


def _first_end(data: bytes) -> int:
    """Position of the first LF or CR, -1 when there is none."""
    lf = data.find(b"\n")
    cr = data.find(b"\r", 0, lf if lf >= 0 else len(data))
    return cr if cr >= 0 else lf


def _record_end(block: bytes, start: int) -> int:
    """Position of the LF or CR that ends the record at `start` of a block of whole records."""
    lf = block.find(b"\n", start)
    cr = block.find(b"\r", start, lf if lf >= 0 else len(block))
    return cr if cr >= 0 else lf


def _record_start(block: bytes, position: int) -> int:
    """Where the record around `position` begins."""
    lf = block.rfind(b"\n", 0, position) + 1
    return max(lf, block.rfind(b"\r", lf, position) + 1)


def _last_decidable_end(block: bytes) -> int:
    """Where the last whole record ends; a CR at the very end waits for a possible LF."""
    stop = len(block) - 1 if block.endswith(b"\r") else len(block)
    lf = block.rfind(b"\n", 0, stop) + 1
    return max(lf, block.rfind(b"\r", lf, stop) + 1)
