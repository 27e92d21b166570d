"""What a run's folder already tells: events, samples and log ranges in the order they happened."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

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
    StacksTaken,
    StopAsked,
    Token,
)
from firedup.host.base import OperationError
from firedup.host.file import TAIL_BYTES, LogPosition, open_file, read_file, stat_file
from firedup.host.frame import Data
from firedup.host.link import Agent
from firedup.host.logfile import (
    LogFile,
    find_log_files,
    open_log_file,
    read_log_file,
)
from firedup.host.process import decode_sample
from firedup.session.bounds import bare_times, last_look, size_at
from firedup.session.generation import list_generations
from firedup.session.telling import find_unrecorded, tell_log
from firedup.session.trail import Volume, find_volumes, wanted_sizes
from firedup.store.event import EventReader, LogRange

# What one session saw of its link or of its own patience is not the run's history.
_KEPT = (Health, PortOwner, Token, Accepted, StacksTaken, StopAsked, KeeperGone)
_FIRST_BYTES = 1 << 17  # of the samples: enough to tell which file the log was at first
_STOP_BYTES = 1 << 20  # of events.jsonl: more than is recorded between a stop and the end


@dataclass(frozen=True, slots=True)
class History:
    """Events (log bytes as ranges) in order of time, and where to go on afterwards.

    `volumes` are the generations of the log, of which the last is there now. `unrecorded` are
    changes and parts of it that no line of events.jsonl tells of, such as those that a killed
    client had read last. `has_begun` and `has_ended` say which ends were recorded. `is_torn`: the
    last line of events.jsonl has no end. `pid` is the server, which may hold a log without a name.
    """

    events: tuple[Event | LogRange, ...]
    volumes: tuple[Volume, ...]
    last_sample_ns: int
    has_begun: bool = False
    has_ended: bool = False
    unrecorded: tuple[LogRange | LogChanged, ...] = ()
    is_torn: bool = False
    pid: int | None = None


async def load_history(
    agent: Agent, folder: str, log: str, log_start: int, *, pid: int | None = None
) -> History:
    """Read events.jsonl and the samples of a run folder, and find all that its log was.

    Where no session was attached, the keeper's samples tell when bytes arrived.
    """
    (recorded, is_torn), samples, end = await asyncio.gather(
        _load_events(agent, f"{folder}/events.jsonl"),
        _load_samples(agent, folder),
        _load_end(agent, folder),
    )
    place = _Place(log, log_start, pid)
    volumes = await _find_volumes(agent, place, recorded, samples, end)
    known = [event for event in recorded if isinstance(event, LogRange)]
    told = list(tell_log(volumes))
    events = [event for event in recorded if isinstance(event, _KEPT)]
    return History(
        tuple(sorted([*events, *samples, *told], key=lambda event: event.at_ns)),
        volumes,
        samples[-1].at_ns if samples else 0,
        any(isinstance(event, Begun) for event in recorded),
        any(isinstance(event, Exited) for event in recorded),
        tuple(find_unrecorded(volumes, told, known)),
        is_torn,
        pid,
    )


async def load_volumes(
    agent: Agent, folder: str, log: str, log_start: int, *, pid: int | None = None
) -> tuple[Volume, ...]:
    """The generations of a run's log and where they can be read; quick when there is one."""
    place, end = _Place(log, log_start, pid), await _load_end(agent, folder)
    sizes = {end.log_size} if end is not None and end.log_size > 0 else ()
    found = await find_log_files(agent, log, sizes=sizes, pid=pid)
    has_moved = any(file.continues(log) or not file.size for file in found.files)
    if found.log is not None and found.log.size >= log_start and not has_moved:
        first = await _load_samples(agent, folder, most_bytes=_FIRST_BYTES)
        generations = list_generations((), [*first, *last_look(first, found, end)])
        if len(generations) == 1:
            return find_volumes(generations, found, log, log_start, size_at(end))
    recorded, _ = await _load_events(agent, f"{folder}/events.jsonl")
    return await _find_volumes(agent, place, recorded, await _load_samples(agent, folder), end)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a log is, where the run begins in it, and who may hold it without a name."""

    log: str
    start: int
    pid: int | None


async def _find_volumes(
    agent: Agent,
    place: _Place,
    recorded: Sequence[Event | LogRange],
    samples: Sequence[Sample],
    end: Sample | None,
) -> tuple[Volume, ...]:
    ends = (end,) if end is not None else ()
    sizes = wanted_sizes(list_generations(recorded, [*samples, *ends]))
    found = await find_log_files(agent, place.log, sizes=sizes, pid=place.pid)
    looks = [*samples, *last_look(samples, found, end)]
    generations = list_generations(recorded, looks, found.files)
    bare = bare_times(recorded, samples, found, end)
    return find_volumes(generations, found, place.log, place.start, size_at(end), bare)


async def replay_history(agent: Agent, log: str, history: History) -> AsyncIterator[Event]:
    """The events of `history` with the log's bytes read back.

    What a rotator destroys meanwhile is a gap, too.
    """
    for event in history.events:
        if not isinstance(event, LogRange):
            yield event
            continue
        volume = history.volumes[event.generation]
        offset, stop = event.offset, event.offset + event.length
        async for piece in read_volume(agent, log, volume, offset, stop, pid=history.pid):
            yield LogData(event.at_ns, event.generation, piece.offset, piece.data)
            offset = piece.offset + len(piece.data)
        if offset < stop and volume is not history.volumes[-1]:
            yield LogChanged(event.at_ns, "gap", event.generation, stop - offset)


async def read_volume(
    agent: Agent, log: str, volume: Volume, start: int, stop: int, *, pid: int | None = None
) -> AsyncIterator[Data]:
    """The bytes of a generation between two offsets, or fewer when they were destroyed."""
    if volume.file is None or stop <= start:
        return
    length = stop - start
    stream = open_log_file(agent, log, volume.file, offset=start, length=length, pid=pid)
    try:
        async for piece in stream:
            if isinstance(piece, Data):
                yield piece
    except OperationError as error:
        if error.code != "not-found":
            raise
    finally:
        stream.close()


@dataclass(slots=True)
class LastBytes:
    """The bytes before the place up to which a log was read; in the file they may be gone."""

    place: tuple[int, int] = (-1, 0)  # generation and offset
    data: bytes = b""

    def take(self, generation: int, offset: int, data: bytes) -> None:
        """Bytes that were read next, or elsewhere."""
        past = self.data if self.place == (generation, offset) else b""
        self.data = (past + data[-TAIL_BYTES:])[-TAIL_BYTES:]
        self.place = (generation, offset + len(data))


async def position_after(
    agent: Agent,
    log: str,
    place: tuple[int, int],
    read: LastBytes,
    *,
    file: LogFile | None = None,
    pid: int | None = None,
) -> LogPosition:
    """Where to follow the log from, with the bytes that prove that it is the same file.

    `place` is a generation and an offset, `file` what was read up to there; by default what has
    the log's name now.
    """
    generation, offset = place
    file = file or (await find_log_files(agent, log)).log
    if file is None:  # what comes next is another file
        dev, ino = (-1, -1) if offset else (None, None)
        return LogPosition(generation, offset, b"", dev, ino, pid)
    start = max(0, offset - TAIL_BYTES)
    tail = read.data if read.place == place else b""
    with contextlib.suppress(OperationError):  # gone since, which following it will tell
        if offset and not tail:
            tail = await read_log_file(
                agent, log, file, offset=start, length=offset - start, pid=pid
            )
    return LogPosition(generation, offset, tail, file.dev, file.ino, pid)


async def _load_end(agent: Agent, folder: str) -> Sample | None:
    """When the server ended and how long its log was then: what follows is a later run's.

    None where nothing tells that: while it lives, and where exit.json is damaged.
    """
    path = f"{folder}/exit.json"
    data = await _read_if_there(agent, path)
    if data is None:
        return None
    try:
        return decode_sample({"log_size": -1, **msgspec.json.decode(data, type=dict[str, Any])})
    except msgspec.MsgspecError:
        return None


async def _load_events(agent: Agent, path: str) -> tuple[list[Event | LogRange], bool]:
    """Events and ranges of the log, and whether the last line has no end."""
    last = b"\n"
    reader = EventReader()
    found: list[Event | LogRange] = []
    stream = open_file(agent, path)
    try:
        async for piece in stream:
            if isinstance(piece, Data):
                found += reader.feed(piece.data)
                last = piece.data[-1:] or last
    except OperationError as error:
        if error.code != "not-found":
            raise
    finally:
        stream.close()
    found += reader.close()
    return found, last != b"\n"


async def _load_samples(
    agent: Agent, folder: str, *, most_bytes: int | None = None
) -> list[Sample]:
    """All that are left, or the first of them."""
    found: list[Sample] = []
    for path in (f"{folder}/samples.1.jsonl", f"{folder}/samples.jsonl"):
        for line in (await _read_if_there(agent, path, most_bytes) or b"").splitlines():
            with contextlib.suppress(msgspec.MsgspecError, KeyError, TypeError):
                found.append(decode_sample(msgspec.json.decode(line)))
        if found and most_bytes is not None:
            break
    return found


async def _read_if_there(agent: Agent, path: str, length: int | None = None) -> bytes | None:
    """Bytes of a file; None when there is none, which costs no question of its own."""
    try:
        return await read_file(agent, path, length=length)
    except OperationError as error:
        if error.code == "not-found":
            return None
        raise


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
