"""The two recordings of `firedup demo --replay`, and when each of their events is due."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from firedup.core.event import Event
from firedup.demo import kimi

NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Recording:
    """An invented run: what to call it, what it shows, and its events."""

    title: str
    meaning: str
    events: Callable[[], Iterator[Event]]


RECORDINGS: Mapping[str, Recording] = {
    "kimi-start": Recording(
        "Kimi-K2.5 INT4 on eight GPUs comes up",
        "547 GB in 64 shards, 313 silent seconds that are work, graph capture, the first token",
        kimi.started,
    ),
    "kimi-crash": Recording(
        "the same server dies while it captures graphs",
        "rank 5 is out of GPU memory; the other ranks only lose their connection to it",
        kimi.crashed,
    ),
}


@dataclass(frozen=True, slots=True)
class Due:
    """An event and how many seconds after the beginning of the replay it is to be shown."""

    due_s: float
    event: Event


def events(name: str) -> Iterator[Event]:
    """Yield the events of a recording in order of time; KeyError when there is none of that name.

    Each call gives the same events: nothing is read but the package's own texts.
    """
    return RECORDINGS[name].events()


def schedule(recorded: Iterable[Event], *, speed: float = 1.0) -> Iterator[Due]:
    """Yield each event with the time at which it is due when time passes `speed` times as fast."""
    if speed <= 0:
        raise ValueError(f"speed is above 0, not {speed}")
    begin_ns: int | None = None
    for event in recorded:
        begin_ns = event.at_ns if begin_ns is None else begin_ns
        yield Due((event.at_ns - begin_ns) / NS / speed, event)
