"""Builds an invented recording: log lines, process samples and answers as the core's events."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from heapq import merge
from operator import attrgetter

from firedup.core.event import Event, LogData, Sample
from firedup.core.model import Process

NS = 1_000_000_000
BLOCKS = " ▏▎▍▌▋▊▉█"


@dataclass(frozen=True, slots=True)
class Clock:
    """Turns seconds since the launch into the host's two clocks and the log's time stamps."""

    boottime_ns: int
    wall_ns: int

    def at_ns(self, at_s: float) -> int:
        """Boottime at `at_s`."""
        return self.boottime_ns + round(at_s * NS)

    def wall_at_ns(self, at_s: float) -> int:
        """Wall time at `at_s`."""
        return self.wall_ns + round(at_s * NS)

    def stamp(self, at_s: float) -> str:
        """Wall time at `at_s` as SGLang writes it, in whole seconds."""
        when = datetime.fromtimestamp(self.wall_at_ns(at_s) // NS, UTC)
        return when.strftime("%Y-%m-%d %H:%M:%S")


@dataclass(frozen=True, slots=True)
class Curve:
    """A quantity over time: straight lines between (seconds, value) points, flat outside them."""

    points: tuple[tuple[float, float], ...]

    def at(self, at_s: float) -> float:
        """The value at `at_s`."""
        after = bisect_right(self.points, at_s, key=lambda point: point[0])
        if after == 0:
            return self.points[0][1]
        if after == len(self.points):
            return self.points[-1][1]
        (begin, low), (end, high) = self.points[after - 1 : after + 1]
        return low + (high - low) * (at_s - begin) / (end - begin)


@dataclass(frozen=True, slots=True)
class Worker:
    """One process of the invented server: when it lives and what it uses, as curves of time."""

    process: Process
    begin_s: float
    cpu_s: Curve
    rss_bytes: Curve
    read_bytes: Curve

    def at(self, at_s: float) -> Process:
        """The process as a sample at `at_s` sees it."""
        cpu_s = self.cpu_s.at(at_s)
        is_running = self.cpu_s.at(at_s + 1.0) - cpu_s > 0.5
        return replace(
            self.process,
            state="R" if is_running else "S",
            cpu_s=round(cpu_s, 2),
            rss_bytes=int(self.rss_bytes.at(at_s)) // 4096 * 4096,
            read_bytes=int(self.read_bytes.at(at_s)),
            write_bytes=0,
        )


class Log:
    """Collects what the ranks and the main process write, in any order."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.pieces: list[tuple[float, int, bytes]] = []

    def write(self, at_s: float, text: str) -> None:
        """Add `text` as one write at `at_s`."""
        self.pieces.append((at_s, len(self.pieces), text.encode()))

    def say(self, at_s: float, message: str, rank: int | None = None) -> None:
        """Add a line with SGLang's prefix; without `rank` it is the main process's."""
        who = "" if rank is None else f" TP{rank}"
        self.write(at_s, f"[{self.clock.stamp(at_s)}{who}] {message}\n")

    def events(self) -> Iterator[LogData]:
        """Yield the writes in their order in time, each with its place in the file."""
        offset = 0
        for at_s, _, data in sorted(self.pieces):
            yield LogData(self.clock.at_ns(at_s), 0, offset, data)
            offset += len(data)


def render_bar(done: int, total: int) -> str:
    """Ten columns of tqdm's bar."""
    eighths = done * 80 // total
    full, rest = divmod(eighths, 8)
    return ("█" * full + (BLOCKS[rest] if full < 10 else "")).ljust(10)


def render_pace(done: int, total: int, elapsed_s: float) -> str:
    """What tqdm prints in brackets: time passed, time left, seconds per step."""
    if done == 0:
        return "00:00<?, ?it/s"
    rate = done / elapsed_s
    pace_s = 1 / rate
    pace = f"{pace_s:5.2f}s/it" if pace_s > 1 else f"{rate:5.2f}it/s"
    return f"{_clock(elapsed_s)}<{_clock((total - done) / rate)}, {pace}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes:02d}:{rest:02d}"


def sample_every_second(
    clock: Clock,
    workers: tuple[Worker, ...],
    *,
    end_s: float,
    log_size: Callable[[int], int],
    ports: Callable[[float], tuple[int, ...]],
    memory_bytes: Curve,
) -> Iterator[Sample]:
    """Yield what the keeper would have recorded; `log_size` takes boottime, `ports` seconds."""
    for second in range(1, int(end_s) + 1):
        alive = tuple(w.at(second) for w in workers if w.begin_s <= second)
        yield Sample(
            at_ns=clock.at_ns(second),
            wall_ns=clock.wall_at_ns(second),
            log_size=log_size(clock.at_ns(second)),
            processes=alive,
            ports=ports(second),
            memory_available_bytes=int(memory_bytes.at(second)),
            oom_kills=0,
        )


def join_events(*streams: Iterator[Event]) -> Iterator[Event]:
    """Merge streams that are each in order of time; at one instant the earlier stream is first."""
    return merge(*streams, key=attrgetter("at_ns"))
