"""Whether a run's record and the log's files hold what its server wrote, and mean the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bench.story import story
from firedup.core.event import Begun, Event, Exited, LogChanged, LogData
from firedup.core.rule import Matcher
from firedup.profile.pipeline import Pipeline
from firedup.store.event import EventReader, LogRange

YEAR = 2026


@dataclass(frozen=True, slots=True)
class Gap:
    """Bytes that were said to be lost; their number where that was known."""

    lost_bytes: int | None


@dataclass(frozen=True, slots=True)
class Record:
    """What events.jsonl tells of a log: pieces in order, and how much was recorded again."""

    events: tuple[Event | LogRange, ...]
    pieces: tuple[LogRange | Gap, ...]
    again_bytes: int


def read_record(path: Path) -> Record:
    """Read events.jsonl as a replay does: what lies before the position was seen already."""
    reader = EventReader()
    events = (*reader.feed(path.read_bytes()), *reader.close())
    pieces: list[LogRange | Gap] = []
    position, again_bytes = (0, 0), 0
    for event in events:
        if isinstance(event, LogChanged) and event.state == "gap":
            pieces.append(Gap(event.lost_bytes))
        if not isinstance(event, LogRange):
            continue
        generation, end = event.generation, event.offset + event.length
        known = position[1] if generation == position[0] else 0
        if generation < position[0] or end <= known:
            again_bytes += event.length
            continue
        start = max(event.offset, known)
        again_bytes += start - event.offset
        pieces.append(LogRange(event.at_ns, generation, start, end - start))
        position = (generation, end)
    return Record(events, tuple(pieces), again_bytes)


def read_pieces(
    pieces: Sequence[LogRange | Gap], generations: Sequence[bytes]
) -> list[bytes | Gap]:
    """The bytes behind the ranges, as the server wrote them file by file."""
    found: list[bytes | Gap] = []
    for piece in pieces:
        if isinstance(piece, Gap):
            found.append(piece)
            continue
        found.append(_bytes_of(piece, generations))
    return found


def _bytes_of(piece: LogRange, generations: Sequence[bytes]) -> bytes:
    data = generations[piece.generation] if piece.generation < len(generations) else b""
    return data[piece.offset : piece.offset + piece.length]


def compare(seen: Sequence[bytes | Gap], written: bytes) -> str | None:
    """Where what was seen differs from what was written; None when all is seen or told as lost."""
    at, gaps = 0, [piece for piece in seen if isinstance(piece, Gap)]
    for data in (piece for piece in seen if isinstance(piece, bytes)):
        if not data:
            return "a part of a file that there never was"
        if written.startswith(data, at):
            at += len(data)
            continue
        found = written.find(data, at)
        if found < 0:
            return (
                f"after {at} of {len(written)} bytes come {data[:60]!r}, which do not follow there"
            )
        if not _is_told(gaps, found - at):
            return f"{found - at} bytes at {at} were lost without a word: {written[at : at + 60]!r}"
        at = found + len(data)
    left = len(written) - at
    if left and not _is_told(gaps, left):
        return f"the last {left} of {len(written)} bytes are missing: {written[at : at + 60]!r}"
    if gaps:
        return f"gaps were told of bytes that were seen: {gaps}"
    return None


def _is_told(gaps: list[Gap], lost_bytes: int) -> bool:
    """Whether a gap tells of so many bytes; it is taken out of the list."""
    for gap in gaps:
        if gap.lost_bytes in (None, lost_bytes):
            gaps.remove(gap)
            return True
    return False


def explain_undisturbed(record: Record, written: bytes, matcher: Matcher) -> dict[str, object]:
    """What one file with all the bytes and the same end of the process means."""
    begun = next(event for event in record.events if isinstance(event, Begun))
    end = next(event for event in record.events if isinstance(event, Exited))
    pipeline = Pipeline(matcher, year=YEAR, engine=begun.spec.engine)
    pipeline.feed(replace(begun, log=None))
    pipeline.feed(LogData(begun.at_ns, 0, 0, written))
    pipeline.feed(end)
    return story(pipeline.snapshot().explanation)


def explain_record(
    record: Record, generations: Sequence[bytes], matcher: Matcher
) -> dict[str, object]:
    """What events.jsonl means, with the log's bytes put back."""
    begun = next(event for event in record.events if isinstance(event, Begun))
    pipeline = Pipeline(matcher, year=YEAR, engine=begun.spec.engine)
    for event in record.events:
        if isinstance(event, LogRange):
            part = _bytes_of(event, generations)
            pipeline.feed(LogData(event.at_ns, event.generation, event.offset, part))
        else:
            pipeline.feed(event)
    return story(pipeline.snapshot().explanation)


def differing(one: dict[str, object], other: dict[str, object]) -> Iterator[str]:
    """What two stories disagree on, in words."""
    for key, value in one.items():
        if value != other.get(key):
            yield f"{key}: {other.get(key)!r} instead of {value!r}"
