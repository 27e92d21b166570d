"""Each process from sample to sample: does it work, spin, sleep, or is it held up, and how long."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from enum import StrEnum

from firedup.core.event import Sample
from firedup.core.machine import Gpu, OpenFile
from firedup.core.process import Process
from firedup.core.verdict.patience import (
    GPU_GROWTH_BYTES,
    GPU_USE_PERCENT,
    IDLE_SHARE,
    MIN_CPU_SHARE,
    RANK_GROWTH_BYTES,
    RANK_MAJOR_FAULTS,
    RANK_MINOR_FAULTS,
    RANK_READ_BYTES,
    SPIN_SHARE,
)

_NS = 1_000_000_000
# Over so long counters are compared: a tick of the kernel's clock is too much of one second.
WINDOW_S = 5.0
PIPE_CHANNELS = frozenset({"pipe_write", "anon_pipe_write"})

Key = tuple[int, int]  # pid and start time, by which a process is the same one


class Hold(StrEnum):
    """What keeps a process from going on, as one sample shows it."""

    STOPPED = "stopped"  # by a signal or a debugger
    PIPE = "pipe"  # it prints and nobody reads
    KERNEL = "kernel"  # it cannot be interrupted


@dataclass(slots=True)
class Motion:
    """One process: when it moved last (host boottime), and what it did in the last seconds.

    `worked_ns`: reads, writes, growth, page faults or GPU memory. `moved_ns`: any of these or CPU
    time. `active_ns`: when it took more CPU time than an idle one, `slack_ns`: less than one that
    spins. `held_ns`: since when `hold` has held it without a sample that showed otherwise.
    """

    process: Process
    worked_ns: int
    moved_ns: int
    active_ns: int
    slack_ns: int
    cpu_share: float = 0.0
    read_bytes_per_s: float = 0.0
    is_spinning: bool = False
    hold: Hold | None = None
    held_ns: int = 0


class Motions:
    """Feed it samples in order."""

    def __init__(self) -> None:
        self._window: deque[tuple[int, dict[Key, Process], tuple[Gpu, ...]]] = deque()
        self.known: dict[Key, Motion] = {}
        self.gpus: tuple[Gpu, ...] = ()
        self.files: tuple[OpenFile, ...] = ()
        self.changed_ns = 0  # when processes came or went, or GPU memory of nobody known grew
        self.gpu_used_ns = 0  # when a GPU of the server was busy

    def feed(self, sample: Sample) -> None:
        """Take one sample."""
        at_ns = sample.at_ns
        self.gpus = sample.gpus or self.gpus
        self.files = sample.files or self.files
        now = {(p.pid, p.start_ticks): p for p in sample.processes if p.state not in "ZX"}
        if now.keys() != self.known.keys():
            self.changed_ns = at_ns
        self._window.append((at_ns, now, self.gpus))
        while len(self._window) > 2 and self._window[1][0] <= at_ns - WINDOW_S * _NS:
            self._window.popleft()
        before_ns, before, gpus = self._window[0]
        elapsed_s = max((at_ns - before_ns) / _NS, 0.001)
        fed = self._feed_gpus(gpus, at_ns)
        known = {}
        for key, process in now.items():
            motion = self.known.get(key) or Motion(process, at_ns, at_ns, at_ns, at_ns)
            motion.process = process
            if (was := before.get(key)) is not None:
                _measure(motion, was, at_ns, elapsed_s, is_fed=process.pid in fed)
            _hold(motion, at_ns)
            known[key] = motion
        self.known = known

    def use_of(self, pid: int) -> int | None:
        """How busy the GPUs of a process are, in percent; None where that is not known."""
        uses = [g.use for g in self.gpus if g.use is not None and any(u[0] == pid for u in g.users)]
        return max(uses, default=None)

    def _feed_gpus(self, before: tuple[Gpu, ...], at_ns: int) -> frozenset[int]:
        """The processes whose GPUs were filled; where the driver tells no users, it is all's."""
        old = {gpu.index: gpu.used_bytes for gpu in before}
        has_users = any(gpu.users for gpu in self.gpus)
        fed: set[int] = set()
        for gpu in self.gpus:
            if has_users and not gpu.users:
                continue  # somebody else's
            if gpu.use is not None and gpu.use >= GPU_USE_PERCENT:
                self.gpu_used_ns = at_ns
            if gpu.used_bytes - old.get(gpu.index, gpu.used_bytes) >= GPU_GROWTH_BYTES:
                fed |= {pid for pid, _ in gpu.users}
                self.changed_ns = at_ns if not has_users else self.changed_ns
        return frozenset(fed)


def _measure(motion: Motion, was: Process, at_ns: int, elapsed_s: float, *, is_fed: bool) -> None:
    """Compare a process with what it had done a few seconds ago."""
    now = motion.process
    motion.cpu_share = max(0.0, now.cpu_s - was.cpu_s) / elapsed_s
    motion.read_bytes_per_s = _grown(now.read_bytes, was.read_bytes) / elapsed_s
    has_worked = (
        is_fed
        or motion.read_bytes_per_s >= RANK_READ_BYTES
        or _grown(now.write_bytes, was.write_bytes) >= RANK_READ_BYTES * elapsed_s
        or now.rss_bytes - was.rss_bytes >= RANK_GROWTH_BYTES * elapsed_s
        or _grown(now.minor_faults, was.minor_faults) >= RANK_MINOR_FAULTS * elapsed_s
        or _grown(now.major_faults, was.major_faults) >= RANK_MAJOR_FAULTS * elapsed_s
    )
    if has_worked:
        motion.worked_ns = at_ns
    if has_worked or motion.cpu_share >= MIN_CPU_SHARE:
        motion.moved_ns = at_ns
    if motion.cpu_share >= IDLE_SHARE:
        motion.active_ns = at_ns
    # Where there are too few cores, one that spins waits for its turn.
    is_kept_waiting = now.state == "R" and motion.cpu_share >= IDLE_SHARE
    motion.is_spinning = is_kept_waiting or motion.cpu_share >= SPIN_SHARE
    if not motion.is_spinning:
        motion.slack_ns = at_ns


def _hold(motion: Motion, at_ns: int) -> None:
    process = motion.process
    hold = None
    if process.state in "Tt":
        hold = Hold.STOPPED
    elif process.wait_channel in PIPE_CHANNELS:
        hold = Hold.PIPE
    elif process.state == "D":
        hold = Hold.KERNEL
    if hold is not motion.hold:
        motion.hold, motion.held_ns = hold, at_ns
    if hold in (Hold.PIPE, Hold.KERNEL) and motion.moved_ns > motion.held_ns:
        motion.held_ns = motion.moved_ns  # a disk that is slow, a reader that reads at times


def _grown(now: int | None, was: int | None) -> int:
    return max(0, (now or 0) - (was or 0))
