"""Logs whose newest line comes first, as some viewers export them, turned round."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise

from firedup.core.log.line import decode_line
from firedup.core.log.numbering import Place, count_newlines, shown_offsets, with_places
from firedup.core.model import Explanation

# So much is turned round; of more the end is as good as the beginning, and memory has a bound.
LIMIT_BYTES = 16 << 20
NOTE = "the newest line of this log comes first: it was read from its end"
TOO_LONG = "the newest line of this log seems to come first; it is too long to be turned round"
HEAD_BYTES = 1 << 16
_LEAST_STEPS = 3  # changes of the time stamp that are needed to tell
_SHARE = 0.9
_TRACEBACK, _FRAME = b"Traceback (most recent call last)", b'  File "'


def is_newest_first(head: bytes) -> bool:
    """Whether time runs backwards in the beginning of a log."""
    whole = head[:HEAD_BYTES]
    stamps = [stamp for raw in whole.split(b"\n")[:-1] if (stamp := _stamp(raw)) is not None]
    steps = [later - earlier for earlier, later in pairwise(stamps) if later != earlier]
    back = sum(step < 0 for step in steps)
    return len(steps) >= _LEAST_STEPS and back >= _SHARE * len(steps)


@dataclass(frozen=True, slots=True)
class Turned:
    """A log with its oldest line first. `starts` says where each piece stood: (here, there)."""

    data: bytes
    starts: tuple[tuple[int, int], ...]

    def place(self, offset: int) -> int:
        """Where a byte of `data` stood in the log as it was."""
        here, there = self.starts[bisect_right(self.starts, (offset, 1 << 62)) - 1]
        return there + offset - here


def turn_round(log: bytes) -> Turned:
    """`log` from its last line to its first; tracebacks that stand in order are kept so."""
    if log and not log.endswith(b"\n"):
        log += b"\n"
    lines = log.splitlines(keepends=True) if b"\r" not in log else _split(log)
    pieces = _gather(lines) if _keeps_messages(log) else lines
    ends = []
    at = 0
    for piece in pieces:
        ends.append(at)
        at += len(piece)
    here, starts = 0, []
    for piece, there in zip(reversed(pieces), reversed(ends), strict=True):
        starts.append((here, there))
        here += len(piece)
    return Turned(b"".join(reversed(pieces)), tuple(starts))


def turned_back(explanation: Explanation, turned: Turned, log: bytes) -> Explanation:
    """`explanation` of a turned log with the places that its lines have in the log as it was."""
    places = {}
    for offset in shown_offsets(explanation):
        true = turned.place(offset)
        places[offset] = Place(true, count_newlines(log[:true]) + 1)
    return with_places(explanation, places)


def _split(log: bytes) -> list[bytes]:
    return [line + b"\n" for line in log.split(b"\n")[:-1]]


def _keeps_messages(log: bytes) -> bool:
    """Whether each record, of several lines too, stands as it was written."""
    at = log.find(_TRACEBACK)
    following = log[log.find(b"\n", at) + 1 :][:4096].split(b"\n", 1)[0] if at >= 0 else b""
    return following.startswith(_FRAME)


def _gather(lines: list[bytes]) -> list[bytes]:
    """Records: a line with a time stamp and those without one that follow it."""
    records: list[list[bytes]] = []
    for line in lines:
        if not records or _stamp(line) is not None:
            records.append([line])
        else:
            records[-1].append(line)
    return [b"".join(record) for record in records]


def _stamp(raw: bytes) -> int | None:
    line = decode_line(raw, offset=0, end=0, number=0, is_progress=False, year=1970)
    return line.stamp_ns
