"""Samples of the process tree → whether anything moves, and for how long nothing has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from firedup.core.event import Sample
from firedup.core.model import Evidence, Process, Stage
from firedup.core.verdict.hold import Stall, find_hold, find_odd_rank, find_stillness, look_at
from firedup.core.verdict.motion import Motions
from firedup.core.verdict.patience import (
    DEFAULT_PATIENCE_S,
    MIN_CPU_SHARE,
    MIN_GROWTH_BYTES,
    MIN_READ_BYTES,
    PATIENCE_S,
    STOPPED_PATIENCE_S,
    Patience,
)
from firedup.core.verdict.vital import Vitals

__all__ = [
    "DEFAULT_PATIENCE_S",
    "MIN_CPU_SHARE",
    "MIN_GROWTH_BYTES",
    "MIN_READ_BYTES",
    "PATIENCE_S",
    "STOPPED_PATIENCE_S",
    "Liveness",
    "Pulse",
]

_NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Pulse:
    """What the samples show. Durations in seconds, None while two samples are missing.

    `idle_s`: since anything moved at all. `quiet_s`: since the log grew. `is_busy`: CPU, reads or
    memory moved within the last samples. `is_frozen`: every process is stopped by a signal.
    """

    idle_s: float | None
    quiet_s: float | None
    is_busy: bool
    is_frozen: bool
    read_bytes_per_s: float | None
    cpu_share: float | None


class Liveness:
    """Feed it samples in order, and tell it when the log grew."""

    def __init__(self, patience: Patience | None = None) -> None:
        self.patience = patience or Patience()
        self.motions = Motions()
        self.vitals = Vitals()
        self._before: Sample | None = None
        self._moved_ns: int | None = None
        self._log_ns: int | None = None
        self._frozen_since: int | None = None
        self._busy = False
        self._rates: tuple[float | None, float | None] = (None, None)
        self.processes: tuple[Process, ...] = ()
        self.sample: Sample | None = None

    def log_grew(self, at_ns: int) -> None:
        """Bytes were added to the log at `at_ns` (host boottime)."""
        self._log_ns = max(at_ns, self._log_ns or 0)
        self._moved_ns = max(at_ns, self._moved_ns or 0)

    def feed(self, sample: Sample) -> None:
        """Take one sample."""
        before, self._before = self._before, sample
        self.sample, self.processes = sample, sample.processes
        self.motions.feed(sample)
        self.vitals.feed(sample)
        if before is None:
            self._moved_ns = self._moved_ns or sample.at_ns
            self._log_ns = self._log_ns or sample.at_ns
            return
        elapsed_s = (sample.at_ns - before.at_ns) / _NS
        if elapsed_s <= 0:
            return
        cpu_s, read, grown = _difference(before, sample)
        self._rates = (read / elapsed_s, cpu_s / elapsed_s)
        self._busy = (
            cpu_s / elapsed_s >= MIN_CPU_SHARE
            or read >= MIN_READ_BYTES * elapsed_s
            or grown >= MIN_GROWTH_BYTES * elapsed_s
        )
        if self._busy or len(before.processes) != len(sample.processes):
            self._moved_ns = max(self._moved_ns or 0, sample.at_ns)
        if sample.log_size > before.log_size:
            self.log_grew(sample.at_ns)
        frozen = bool(sample.processes) and all(p.state in "Tt" for p in sample.processes)
        self._frozen_since = (self._frozen_since or sample.at_ns) if frozen else None

    def pulse(self, now_ns: int) -> Pulse:
        """The state of things at `now_ns`."""
        return Pulse(
            idle_s=_since(self._moved_ns, now_ns) if self.sample else None,
            quiet_s=_since(self._log_ns, now_ns),
            is_busy=self._busy,
            is_frozen=self._frozen_since is not None,
            read_bytes_per_s=self._rates[0],
            cpu_share=self._rates[1],
        )

    def stall(self, now_ns: int, stage: Stage | None) -> tuple[Evidence, ...]:
        """The evidence of `find_stall`; empty while there is hope."""
        found = self.find_stall(now_ns, stage)
        return found.evidence if found is not None else ()

    def find_stall(
        self,
        now_ns: int,
        stage: Stage | None,
        *,
        names: Mapping[int, str] | None = None,
        is_up: bool = False,
        own_s: float | None = None,
    ) -> Stall | None:
        """Why nothing will come any more, with evidence; None while there is hope.

        It reaches to the newest sample: without samples (link down, keeper gone) nothing is known.
        `names` are ranks by pid as the log tells them, `own_s` the user's own limit for the stage.
        A server that `is_up` may be idle, but not held up.
        """
        if self.sample is None or not self.processes:
            return None
        now_ns = min(now_ns, self.sample.at_ns)
        frozen_s = _since(self._frozen_since, now_ns)
        if frozen_s is not None and frozen_s >= self.patience.stopped_s:
            text = f"every process of the server has been stopped by a signal for {frozen_s:.0f} s"
            return Stall.of_all(Evidence("sample", text), is_held=self._is_detailed())
        if not self._is_detailed():
            return None if is_up else self._idle(self._moved_ns, now_ns, stage, own_s)
        look = look_at(
            self.motions,
            self.processes[0].pid,
            names or {},
            self.patience,
            now_ns,
            self._log_ns or 0,
            stage,
            own_s,
        )
        held = find_hold(look)
        if held is not None or is_up:
            return held
        return find_odd_rank(look) or find_stillness(look)

    def _is_detailed(self) -> bool:
        """Whether the samples tell more than CPU time, reads and memory."""
        return any(process.threads is not None for process in self.processes)

    def _idle(
        self, moved_ns: int | None, now_ns: int, stage: Stage | None, own_s: float | None
    ) -> Stall | None:
        idle_s = _since(moved_ns, now_ns)
        if idle_s is None or idle_s < self.patience.idle_s(stage, own_s):
            return None
        quiet_s = _since(self._log_ns, now_ns) or idle_s
        return Stall.of_all(
            Evidence("sample", f"no CPU time, reads or memory growth for {idle_s:.0f} s"),
            Evidence("sample", f"the log has been silent for {quiet_s:.0f} s"),
        )


def _difference(before: Sample, after: Sample) -> tuple[float, int, int]:
    """CPU seconds, bytes read and bytes grown between two samples, over processes in both."""
    old = {(p.pid, p.start_ticks): p for p in before.processes}
    cpu_s, read, grown = 0.0, 0, 0
    for process in after.processes:
        was = old.get((process.pid, process.start_ticks))
        if was is None:
            cpu_s += process.cpu_s
            continue
        cpu_s += process.cpu_s - was.cpu_s
        read += (process.read_bytes or 0) - (was.read_bytes or 0)
        grown += max(0, process.rss_bytes - was.rss_bytes)
    return max(0.0, cpu_s), max(0, read), grown


def _since(then_ns: int | None, now_ns: int) -> float | None:
    return None if then_ns is None else max(0.0, (now_ns - then_ns) / _NS)
