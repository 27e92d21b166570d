"""What a run's folder already tells: events, samples and log ranges in the order they happened."""

from __future__ import annotations

import bisect
import contextlib
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass

import msgspec

from firedup.core.event import (
    Accepted,
    Event,
    Exited,
    LogChanged,
    LogData,
    Sample,
    StopAsked,
    Token,
)
from firedup.host.file import LogPosition, open_file, read_file, stat_file
from firedup.host.frame import Data
from firedup.host.link import Agent
from firedup.host.process import decode_sample
from firedup.store.event import EventReader, LogRange

# What one session saw of the link, of its own patience or of a moment's health is not history.
_KEPT = (Token, Accepted, StopAsked)
PIECE_BYTES = 1 << 20
TAIL_BYTES = 256


@dataclass(frozen=True, slots=True)
class History:
    """Events (log bytes as ranges) in order of time, and where to go on afterwards.

    `generation` is the log file that is there now; earlier ones can be read no more.
    """

    events: tuple[Event | LogRange, ...]
    generation: int
    size: int
    last_sample_ns: int


async def load_history(agent: Agent, folder: str, log: str, log_start: int) -> History:
    """Read events.jsonl and the samples of a run folder, and the size of its log.

    Where no session was attached, the keeper's samples tell when bytes arrived.
    """
    events, ranges = await _load_events(agent, f"{folder}/events.jsonl")
    samples = [
        sample
        for name in ("samples.1.jsonl", "samples.jsonl")
        for sample in await _load_samples(agent, f"{folder}/{name}")
    ]
    generation = max((e.generation for e in events if isinstance(e, LogChanged)), default=0)
    facts = await stat_file(agent, log)
    size = facts.size if facts is not None else 0
    arrivals = _arrivals(
        [r for r in ranges if r.generation == generation], samples if not generation else []
    )
    kept: list[Event | LogRange] = [e for e in events if isinstance(e, _KEPT)]
    kept += samples
    kept += _slice(arrivals, log_start if not generation else 0, size, generation)
    kept.sort(key=lambda event: event.at_ns)
    last_ns = samples[-1].at_ns if samples else 0
    return History(tuple(kept), generation, size, last_ns)


async def replay_history(agent: Agent, log: str, history: History) -> AsyncIterator[Event]:
    """The events of `history` with the log's bytes read back."""
    if history.generation:
        yield LogChanged(history.events[0].at_ns, "rotated", history.generation)
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


async def _load_events(agent: Agent, path: str) -> tuple[list[Event], list[LogRange]]:
    if await stat_file(agent, path) is None:
        return [], []
    reader = EventReader()
    found: list[Event | LogRange] = []
    stream = open_file(agent, path)
    try:
        async for piece in stream:
            if isinstance(piece, Data):
                found += reader.feed(piece.data)
    finally:
        stream.close()
    found += reader.close()
    events: list[Event] = [e for e in found if not isinstance(e, LogRange | Exited)]
    return events, [e for e in found if isinstance(e, LogRange)]


async def _load_samples(agent: Agent, path: str) -> list[Sample]:
    if await stat_file(agent, path) is None:
        return []
    found = []
    for line in (await read_file(agent, path)).splitlines():
        with contextlib.suppress(msgspec.MsgspecError, KeyError, TypeError):
            found.append(decode_sample(msgspec.json.decode(line)))
    return found


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
