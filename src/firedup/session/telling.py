"""What happened to a log, as events in the order of its bytes, and what of it nobody recorded."""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from firedup.core.event import LogChanged
from firedup.session.generation import Mark
from firedup.session.trail import Volume
from firedup.store.event import LogRange


def tell_log(volumes: Sequence[Volume]) -> Iterator[LogRange | LogChanged]:
    """All that happened to the log, in order, at times that never go back.

    A change says how the file before it ended, by which that is known again under any name.
    """
    at_ns = 0
    before: Volume | None = None
    for volume in volumes:
        one = volume.generation
        at_ns = max(at_ns, one.at_ns)
        if one.number:
            dev, ino = one.identity or (None, None)
            end, tail = _end_of(before)
            yield LogChanged(at_ns, one.state, one.number, dev=dev, ino=ino, end=end, tail=tail)
        before = volume
        for piece in _slice(volume, at_ns):
            at_ns = piece.at_ns
            yield piece
        if volume.lost_bytes != 0:
            yield LogChanged(at_ns, "gap", one.number, volume.lost_bytes)


def _end_of(volume: Volume | None) -> tuple[int | None, int | None]:
    """How long a generation was that is read to its end, and the mark of what stands there."""
    if volume is None or volume.file is None or volume.end != volume.file.size or not volume.end:
        return None, None
    return volume.end, volume.file.tail


def find_unrecorded(
    volumes: Sequence[Volume], told: Iterable[LogRange | LogChanged], known: Sequence[LogRange]
) -> Iterator[LogRange | LogChanged]:
    """What events.jsonl lacks of `told`, and which files the log was where it does not say."""
    recorded = set()
    for one in (volume.generation for volume in volumes):
        if one.is_recorded:
            recorded.add(one.number)
            if one.identity is not None and not one.is_named:
                dev, ino = one.identity
                yield LogChanged(one.at_ns, "opened", one.number, dev=dev, ino=ino)
    covered = _cover(known)
    for event in told:
        if isinstance(event, LogRange):
            yield from _without(event, covered.get(event.generation, ()))
        elif event.generation not in recorded:
            yield event


def _arrivals(marks: Iterable[Mark]) -> list[tuple[int, int]]:
    """(offset, time) pairs, both ascending: all bytes below `offset` had arrived at that time."""
    found: list[tuple[int, int]] = []
    latest = 0
    for mark in marks:
        if found and mark.offset == found[-1][0]:
            continue
        latest = max(latest, mark.at_ns)
        found.append((mark.offset, latest))
    return found


def _slice(volume: Volume, at_ns: int) -> Iterator[LogRange]:
    """What can be read of a generation, in ranges, each with the time of its arrival."""
    at, number = volume.start, volume.generation.number
    for offset, arrived_ns in _arrivals(volume.generation.marks):
        at_ns = max(at_ns, arrived_ns)
        stop = min(offset, volume.end)
        if stop > at:
            yield LogRange(at_ns, number, at, stop - at)
            at = stop
    if at < volume.end:  # bytes that nobody timed came after the last that somebody did
        yield LogRange(at_ns, number, at, volume.end - at)


def _cover(known: Iterable[LogRange]) -> dict[int, list[tuple[int, int]]]:
    """What ranges cover of each generation: (first, end) pairs, ascending and apart."""
    found: dict[int, list[tuple[int, int]]] = {}
    for piece in sorted(known, key=lambda k: (k.generation, k.offset)):
        own = found.setdefault(piece.generation, [])
        stop = piece.offset + piece.length
        if own and piece.offset <= own[-1][1]:
            own[-1] = (own[-1][0], max(stop, own[-1][1]))
        else:
            own.append((piece.offset, stop))
    return found


def _without(piece: LogRange, covered: Sequence[tuple[int, int]]) -> Iterator[LogRange]:
    """The parts of `piece` that nothing in `covered` (ascending, apart) covers."""
    at, stop = piece.offset, piece.offset + piece.length
    for first, last in covered[max(0, bisect.bisect_left(covered, (at,)) - 1) :]:
        if first >= stop:
            break
        if first > at:
            yield replace(piece, offset=at, length=first - at)
        at = max(at, last)
    if at < stop:
        yield replace(piece, offset=at, length=stop - at)
