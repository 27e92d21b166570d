"""What a log was before anybody saw a byte of it, is now, or was when its server ended."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from firedup.core.event import Event, Sample
from firedup.host.logfile import LogFile, LogFiles
from firedup.session.trail import Unseen
from firedup.store.event import LogRange


def bare_times(
    recorded: Iterable[Event | LogRange],
    samples: Sequence[Sample],
    found: LogFiles,
    end: Sample | None,
) -> Unseen:
    """When the log was missing or empty at first and at last, by the host's wall clock.

    The first does not matter once a session has read of it.
    """
    was_read = any(isinstance(event, LogRange) for event in recorded)
    was_bare = bool(samples) and samples[0].log_size <= 0
    since = samples[0].wall_ns if was_bare and not was_read else None
    if end is not None:
        return Unseen(since, end.wall_ns if end.log_size <= 0 else None)
    is_bare = found.log is None or found.log.size == 0
    return Unseen(since, found.wall_ns if is_bare else None)


def size_at(end: Sample | None) -> int | None:
    """How long the log was when the server ended; None while it runs, or without a log."""
    return end.log_size if end is not None and end.log_size > 0 else None


def last_look(samples: Sequence[Sample], found: LogFiles, end: Sample | None) -> Iterable[Sample]:
    """What the log is now, or was when the server ended, as one more sample."""
    file = found.log
    last = next((sample for sample in reversed(samples) if sample.log_size >= 0), None)
    if end is None:
        if file is not None:
            yield Sample(
                found.at_ns,
                found.wall_ns,
                file.size,
                log_dev=file.dev,
                log_ino=file.ino,
                log_head=file.head,
                log_tail=file.tail,
                log_turn=_turn_now(last, file),
            )
        return
    is_last = last is not None and end.log_size >= last.log_size
    if end.log_size < 0 or end.log_ino is not None or is_last:
        yield end
    elif file is not None and file.size >= end.log_size:
        yield replace(end, log_dev=file.dev, log_ino=file.ino)
    else:
        yield replace(end, log_dev=-1, log_ino=-1)


def _turn_now(last: Sample | None, file: LogFile) -> int | None:
    """As the keeper would count: whether the log still holds what the last sample saw in it."""
    if last is None or last.log_turn is None:
        return None
    if (last.log_dev, last.log_ino) != file.identity or file.size < last.log_size:
        return last.log_turn + 1
    if last.log_size == 0:
        return last.log_turn
    if last.log_size not in file.tails:
        return None
    return last.log_turn + (file.tails[last.log_size] != last.log_tail)
