"""What a run's folder already tells: events, samples and log ranges in the order they happened."""

from __future__ import annotations

import bisect
import contextlib
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from itertools import pairwise

import msgspec

from firedup.core.event import (
    Accepted,
    Begun,
    Event,
    Exited,
    Health,
    KeeperGone,
    LogChanged,
    LogData,
    PortOwner,
    Sample,
    StopAsked,
    Token,
)
from firedup.host.file import LogPosition, open_file, read_file, stat_file
from firedup.host.frame import Data
from firedup.host.link import Agent
from firedup.host.process import decode_sample
from firedup.store.event import EventReader, LogRange

# What one session saw of its link or of its own patience is not the run's history.
_KEPT = (Health, PortOwner, Token, Accepted, StopAsked, KeeperGone)
TAIL_BYTES = 256
_STOP_BYTES = 1 << 20  # of events.jsonl: more than is recorded between a stop and the end


@dataclass(frozen=True, slots=True)
class History:
    """Events (log bytes as ranges) in order of time, and where to go on afterwards.

    `generation` is the log file that is there now; earlier ones can be read no more, and
    `lost_bytes` were in them. `unrecorded` are the parts of its log that no line of events.jsonl
    tells of, such as those that a killed client had read last, `changes` what nobody saw happen to
    it. `has_begun` and `has_ended` say which ends were recorded. `is_torn`: the last line of
    events.jsonl has no end.
    """

    events: tuple[Event | LogRange, ...]
    generation: int
    size: int
    last_sample_ns: int
    has_begun: bool = False
    has_ended: bool = False
    unrecorded: tuple[LogRange, ...] = ()
    is_torn: bool = False
    lost_bytes: int | None = None
    changes: tuple[LogChanged, ...] = ()


async def load_history(agent: Agent, folder: str, log: str, log_start: int) -> History:
    """Read events.jsonl and the samples of a run folder, and the size of its log.

    Where no session was attached, the keeper's samples tell when bytes arrived.
    """
    events, ranges, is_torn = await _load_events(agent, f"{folder}/events.jsonl")
    samples = [
        sample
        for name in ("samples.1.jsonl", "samples.jsonl")
        for sample in await _load_samples(agent, f"{folder}/{name}")
    ]
    generation = max((e.generation for e in events if isinstance(e, LogChanged)), default=0)
    size = await end_of_log(agent, folder, log)
    changes: tuple[LogChanged, ...] = ()
    if _has_shrunk(ranges, samples, generation, size):
        generation += 1
        changes = (LogChanged(samples[-1].at_ns if samples else 0, "rotated", generation),)
    lost_bytes = _lost(ranges, samples, generation) if generation else None
    known = [r for r in ranges if r.generation == generation]
    arrivals = _arrivals(known, [] if generation else samples)
    kept: list[Event | LogRange] = [e for e in events if isinstance(e, _KEPT)]
    kept += samples
    last_ns = samples[-1].at_ns if samples else 0
    arrivals = arrivals or ([(0, last_ns)] if generation else [])
    pieces = _slice(arrivals, 0 if generation else log_start, size, generation)
    kept += pieces
    kept.sort(key=lambda event: event.at_ns)
    has_begun = any(isinstance(event, Begun) for event in events)
    return History(
        tuple(kept),
        generation,
        size,
        last_ns,
        has_begun,
        any(isinstance(event, Exited) for event in events),
        tuple(_without(pieces, known)),
        is_torn,
        lost_bytes,
        changes,
    )


async def replay_history(agent: Agent, log: str, history: History) -> AsyncIterator[Event]:
    """The events of `history` with the log's bytes read back."""
    first_ns = history.events[0].at_ns if history.events else 0
    if history.generation:
        yield LogChanged(first_ns, "rotated", history.generation)
    if history.lost_bytes is not None:
        yield LogChanged(first_ns, "gap", history.generation, history.lost_bytes)
    for event in history.events:
        if not isinstance(event, LogRange):
            yield event
            continue
        stream = open_file(agent, log, offset=event.offset, length=event.length)
        try:
            async for piece in stream:
                if isinstance(piece, Data):
                    yield LogData(event.at_ns, event.generation, piece.offset, piece.data)
        finally:
            stream.close()


async def position_after(agent: Agent, log: str, generation: int, offset: int) -> LogPosition:
    """Where to follow the log from, with the bytes that prove that it is the same file."""
    start = max(0, offset - TAIL_BYTES)
    tail = await read_file(agent, log, offset=start, length=offset - start) if offset else b""
    facts = await stat_file(agent, log)
    return LogPosition(
        generation,
        offset,
        tail,
        facts.dev if facts else None,
        facts.ino if facts else None,
    )


async def end_of_log(agent: Agent, folder: str, log: str) -> int:
    """How much of the log there is; what came after the server's end is a later run's."""
    facts = await stat_file(agent, log)
    if facts is None:
        return 0
    if await stat_file(agent, f"{folder}/exit.json") is None:
        return facts.size
    end = msgspec.json.decode(await read_file(agent, f"{folder}/exit.json")).get("log_size", -1)
    return min(facts.size, int(end)) if end >= 0 else facts.size


async def _load_events(agent: Agent, path: str) -> tuple[list[Event], list[LogRange], bool]:
    """Events, ranges of the log, and whether the last line has no end."""
    if await stat_file(agent, path) is None:
        return [], [], False
    last = b"\n"
    reader = EventReader()
    found: list[Event | LogRange] = []
    stream = open_file(agent, path)
    try:
        async for piece in stream:
            if isinstance(piece, Data):
                found += reader.feed(piece.data)
                last = piece.data[-1:] or last
    finally:
        stream.close()
    found += reader.close()
    events: list[Event] = [e for e in found if not isinstance(e, LogRange)]
    return events, [e for e in found if isinstance(e, LogRange)], last != b"\n"


async def _load_samples(agent: Agent, path: str) -> list[Sample]:
    if await stat_file(agent, path) is None:
        return []
    found = []
    for line in (await read_file(agent, path)).splitlines():
        with contextlib.suppress(msgspec.MsgspecError, KeyError, TypeError):
            found.append(decode_sample(msgspec.json.decode(line)))
    return found


def _has_shrunk(
    ranges: Iterable[LogRange], samples: Iterable[Sample], generation: int, size: int
) -> bool:
    """Whether the log was rotated or truncated while nobody was attached to see it.

    Its end was beyond its present one, or its size went down between two samples.
    """
    if any(r.generation == generation and r.offset + r.length > size for r in ranges):
        return True
    sizes = [*(sample.log_size for sample in samples), size]
    return not generation and any(after < before for before, after in pairwise(sizes))


def _lost(ranges: Iterable[LogRange], samples: Iterable[Sample], generation: int) -> int:
    """How many bytes were in the logs before `generation`, as far as anybody saw."""
    ends: dict[int, int] = {0: max((sample.log_size for sample in samples), default=0)}
    for piece in ranges:
        if piece.generation < generation:
            stop = piece.offset + piece.length
            ends[piece.generation] = max(stop, ends.get(piece.generation, 0))
    return sum(ends.values())


def _arrivals(ranges: Iterable[LogRange], samples: Iterable[Sample]) -> list[tuple[int, int]]:
    """(offset, time) pairs, both ascending: all bytes below `offset` had arrived at that time."""
    known = sorted(
        [(r.offset + r.length, r.at_ns) for r in ranges] + [(s.log_size, s.at_ns) for s in samples]
    )
    found: list[tuple[int, int]] = []
    latest = 0
    for offset, at_ns in known:
        if found and offset == found[-1][0]:
            continue
        latest = max(latest, at_ns)
        found.append((offset, latest))
    return found


def _slice(
    arrivals: list[tuple[int, int]], start: int, size: int, generation: int
) -> list[LogRange]:
    """The log from `start` to `size` in ranges, each with the time of its arrival."""
    found: list[LogRange] = []
    at = start
    for offset, at_ns in arrivals[bisect.bisect_right(arrivals, (start, 1 << 63)) :]:
        stop = min(offset, size)
        if stop > at:
            found.append(LogRange(at_ns, generation, at, stop - at))
            at = stop
    if at < size and arrivals:
        # Bytes that nobody timed came after the last that somebody did.
        found.append(LogRange(arrivals[-1][1], generation, at, size - at))
    return found


def _without(pieces: Iterable[LogRange], known: Iterable[LogRange]) -> Iterable[LogRange]:
    """The parts of `pieces` (ascending, apart) that no range in `known` covers."""
    covered = sorted((r.offset, r.offset + r.length) for r in known)
    for piece in pieces:
        at, stop = piece.offset, piece.offset + piece.length
        for first, last in covered:
            if last <= at or first >= stop:
                continue
            if first > at:
                yield LogRange(piece.at_ns, piece.generation, at, first - at)
            at = last
        if at < stop:
            yield LogRange(piece.at_ns, piece.generation, at, stop - at)


async def read_stop(agent: Agent, folder: str) -> StopAsked | None:
    """The newest wish of an operator to end the run, which any client may have recorded."""
    path = f"{folder}/events.jsonl"
    facts = await stat_file(agent, path)
    if facts is None:
        return None
    tail = await read_file(agent, path, offset=max(0, facts.size - _STOP_BYTES))
    reader = EventReader()
    found = [e for e in (*reader.feed(tail), *reader.close()) if isinstance(e, StopAsked)]
    return found[-1] if found else None
