"""What counts as movement between samples, and how long a stage may go without any."""

from __future__ import annotations

from dataclasses import dataclass

from firedup.core.model import Stage

_MIB = 1 << 20

# Of a whole tree: less than these between two samples is housekeeping, not progress of a start.
MIN_CPU_SHARE = 0.02  # of one core
MIN_READ_BYTES = 4 * _MIB
MIN_GROWTH_BYTES = 16 * _MIB
# Of one process over a few seconds, since each of many ranks may do a part of that.
RANK_READ_BYTES = _MIB // 2
RANK_GROWTH_BYTES = _MIB
RANK_MINOR_FAULTS = 250.0  # a second: a MiB of pages that were in memory already
RANK_MAJOR_FAULTS = 2.0  # a second: each brings a piece of a mapped file from its disk
# A rank that waits in a collective takes a core, and shares it where there are too few.
SPIN_SHARE, IDLE_SHARE = 0.25, 0.1
GPU_GROWTH_BYTES = 16 * _MIB
GPU_USE_PERCENT = 10

# How long a stage may do nothing at all: no log, no CPU, no reads, no growth. A wait for slow
# ranks or for a peer looks like that; loading, compiling and capturing do not.
PATIENCE_S = {
    Stage.DIST_INIT: 600.0,
    Stage.WARMUP: 300.0,
}
DEFAULT_PATIENCE_S = 180.0
# A process that was stopped by a signal will not go on by itself: no need to wait.
STOPPED_PATIENCE_S = 10.0
# Nobody reads what a process prints: whoever does may be slow for a moment.
PIPE_PATIENCE_S = 60.0
# In the kernel, where no signal reaches it: a disk that is busy answers sooner.
KERNEL_PATIENCE_S = 120.0
# One rank does nothing while the others only burn CPU time, as they do in a collective. Ranks
# meet late, one compiles for all, and tuning is uneven, so these stages get more time.
ODD_PATIENCE_S = {
    Stage.DIST_INIT: 600.0,
    Stage.COMPILE: 600.0,
    Stage.GRAPH_CAPTURE: 300.0,
    Stage.WARMUP: 300.0,
}
DEFAULT_ODD_PATIENCE_S = 120.0
# With as many idle ranks as busy ones it is less clear who waits for whom.
EVEN_PATIENCE_S = 600.0
# Repacking, JIT compilers and tuning burn CPU time without a word, the longest for 20 minutes.
SPIN_PATIENCE_S = 1800.0


@dataclass(frozen=True, slots=True)
class Patience:
    """The times above, in seconds. `scale` makes them shorter where time is made to run faster."""

    scale: float = 1.0

    def idle_s(self, stage: Stage | None, own_s: float | None = None) -> float:
        """For a stage that does nothing; `own_s` is the user's limit, which may allow more."""
        known = PATIENCE_S.get(stage, DEFAULT_PATIENCE_S) if stage else DEFAULT_PATIENCE_S
        return max(known * self.scale, own_s or 0.0)

    def odd_s(self, stage: Stage | None, *, is_even: bool) -> float:
        """For a rank that does nothing while others spin."""
        known = ODD_PATIENCE_S.get(stage) if stage else None
        least = EVEN_PATIENCE_S if is_even else 0.0
        return max(known or DEFAULT_ODD_PATIENCE_S, least) * self.scale

    @property
    def stopped_s(self) -> float:
        """For a process that a signal has stopped."""
        return STOPPED_PATIENCE_S * self.scale

    @property
    def pipe_s(self) -> float:
        """For one that waits until somebody reads what it prints."""
        return PIPE_PATIENCE_S * self.scale

    @property
    def kernel_s(self) -> float:
        """For one that waits in the kernel and does not read."""
        return KERNEL_PATIENCE_S * self.scale

    @property
    def spin_s(self) -> float:
        """For CPU time that leads to nothing else."""
        return SPIN_PATIENCE_S * self.scale
