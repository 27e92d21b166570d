"""Log bytes with the stamps that a tool put before each line → the log's own bytes, and when."""

from __future__ import annotations

import re
import zlib
from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Protocol

_STAMP = re.compile(
    rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)(?: |(?=\r?\n?\Z))"
)
# Docker stores longer lines in pieces of this size and stamps each of them.
PIECE_BYTES = 16384
# A line that does not end is passed on in parts of this size.
LINE_LIMIT_BYTES = 1024 * 1024
RECENT_LINES = 512


@dataclass(frozen=True, slots=True)
class Poured:
    """Bytes of a log and when they were written (wall clock of the tool that kept them)."""

    wall_ns: int
    data: bytes
    place: str | None = None  # where the keeper of the log finds it again


class Decoder(Protocol):
    """Turns a tool's output into the log's own bytes."""

    def feed(self, data: bytes) -> list[Poured]:
        """Takes what the tool printed; gives out what is complete."""

    def close(self) -> list[Poured]:
        """Gives out the rest: nothing more will come."""


@dataclass(slots=True)
class StampedLines:
    """Lines as `docker logs --timestamps` and `kubectl logs --timestamps` print them.

    What has no stamp was said by the tool itself: `words` keeps the last of it.
    """

    words: list[str] = field(default_factory=list)
    _rest: bytes = b""
    _second: tuple[bytes, bytes, int] = (b"", b"", 0)
    _cut_ns: int | None = None  # of the line of which parts were given out already

    def feed(self, data: bytes) -> list[Poured]:
        """The lines that are complete by now, without their stamps."""
        *lines, rest = (self._rest + data).split(b"\n")
        found = []
        for line in lines:
            found += self._cut(line)
            found += self._strip(self._rest, b"\n")
        found += self._cut(rest)
        return found

    def close(self) -> list[Poured]:
        """The last line, which had no end."""
        rest, self._rest = self._rest, b""
        return self._strip(rest, b"") if rest else []

    def _cut(self, line: bytes) -> list[Poured]:
        """The parts of a line that is too long to be held; what is left of it is the rest now."""
        found = []
        while len(line) > LINE_LIMIT_BYTES:
            found += self._strip(line[:LINE_LIMIT_BYTES], b"")
            line = line[LINE_LIMIT_BYTES:]
        self._rest = line
        return found

    def _strip(self, line: bytes, end: bytes) -> list[Poured]:
        """A line or the next part of one; only the first part has a stamp."""
        if self._cut_ns is not None:
            wall_ns, message = self._cut_ns, line
        elif (stamp := _STAMP.match(line)) is not None:
            wall_ns, message = self._wall_ns(stamp), self._join_pieces(line, stamp.end())
        else:
            if line.strip():
                self.words = [*self.words[-9:], line.decode("utf-8", "replace").strip()]
            return []
        self._cut_ns = None if end else wall_ns
        return [Poured(wall_ns, message + end)]

    def _join_pieces(self, line: bytes, start: int) -> bytes:
        """The message of a line, without the stamps that stand before its further pieces."""
        if len(line) - start <= PIECE_BYTES:
            return line[start:]
        pieces = []
        while len(line) - start > PIECE_BYTES and (
            stamp := _STAMP.match(line, start + PIECE_BYTES)
        ):
            pieces.append(line[start : start + PIECE_BYTES])
            start = stamp.end()
        return b"".join([*pieces, line[start:]])

    def _wall_ns(self, stamp: re.Match[bytes]) -> int:
        second, zone = stamp[1], stamp[3]
        if self._second[:2] != (second, zone):  # most lines come in the second of the one before
            self._second = (second, zone, _epoch_s(second.decode(), zone.decode()))
        return self._second[2] * 1_000_000_000 + _nanoseconds(stamp)


def _nanoseconds(stamp: re.Match[bytes]) -> int:
    return int((stamp[2] or b"").ljust(9, b"0"))


def _epoch_s(second: str, zone: str) -> int:
    offset = timedelta()
    if zone != "Z":
        hours, minutes = int(zone[1:3]), int(zone[4:6])
        offset = timedelta(hours=hours, minutes=minutes) * (-1 if zone[0] == "-" else 1)
    try:
        return round(datetime.fromisoformat(second).replace(tzinfo=timezone(offset)).timestamp())
    except ValueError:  # the 40th of some month: written by no clock
        return 0


def read_stamp(text: str) -> int | None:
    """An RFC 3339 time such as the tools print it, in ns since the epoch; None for none.

    The year 1, which stands for "never" with Docker, is none.
    """
    stamp = _STAMP.fullmatch(text.encode("utf-8", "replace"))
    if stamp is None or text.startswith("0001-"):
        return None
    return _epoch_s(stamp[1].decode(), stamp[3].decode()) * 1_000_000_000 + _nanoseconds(stamp)


@dataclass(frozen=True, slots=True)
class Cursor:
    """How far a stream has been given out.

    `recent` are time and checksum of the last lines; `place` is the keeper's own mark, which is
    exact where there is one.
    """

    recent: tuple[tuple[int, int], ...] = ()
    place: str | None = None

    @property
    def since_ns(self) -> int | None:
        """From when on a tool has to tell again; None: from the beginning."""
        return min(at for at, _ in self.recent) if self.recent else None


class Sifter:
    """Lets each line through once, though a tool that is asked again tells some twice.

    They come in the same order: what precedes the last known line is old. Where the tool has lost
    those lines, one that is later than all of them is the first new one.
    """

    def __init__(self, cursor: Cursor) -> None:
        self._recent = deque(cursor.recent, RECENT_LINES)
        self._known = Counter(cursor.recent if cursor.place is None else ())
        self._left = self._known.total()
        self._newest_ns = max((at for at, _ in cursor.recent), default=0)
        self._place = cursor.place

    @property
    def cursor(self) -> Cursor:
        """Where to go on."""
        return Cursor(tuple(self._recent), self._place)

    def sift(self, lines: Iterable[Poured]) -> list[Poured]:
        """Those of `lines` that are new."""
        new = []
        for line in lines:
            mark = (line.wall_ns, zlib.crc32(line.data.rstrip(b"\n")))
            if self._left and self._is_old(mark):
                continue
            new.append(line)
            self._recent.append(mark)
            self._place = line.place or self._place
        return new

    def _is_old(self, mark: tuple[int, int]) -> bool:
        if self._known[mark] > 0:
            self._known[mark] -= 1
            self._left -= 1
            return True
        if mark[0] > self._newest_ns:
            self._left = 0
            return False
        return True
