"""Samples tell progress from silence."""

from __future__ import annotations

from firedup.core.event import Sample
from firedup.core.model import Process, Stage
from firedup.core.verdict.liveness import DEFAULT_PATIENCE_S, Liveness

NS = 1_000_000_000
MIB = 1 << 20


def sample(
    second: int,
    *,
    cpu_s: float = 0.0,
    read: int = 0,
    rss: int = 0,
    log: int = 0,
    state: str = "S",
    wall: int = 0,
) -> Sample:
    process = Process(7, 1, 1, "sglang", state, cpu_s, rss, read)
    return Sample(second * NS, wall, log, (process,))


def feed(*samples: Sample) -> Liveness:
    liveness = Liveness()
    for one in samples:
        liveness.feed(one)
    return liveness


def test_reading_is_progress_even_when_the_log_is_silent() -> None:
    liveness = feed(*(sample(n, read=n * 500 * MIB) for n in range(400)))

    assert liveness.stall(400 * NS, Stage.LOAD_WEIGHTS) == ()
    pulse = liveness.pulse(399 * NS)
    assert pulse.is_busy
    assert pulse.quiet_s == 399


def test_computing_is_progress() -> None:
    assert feed(*(sample(n, cpu_s=n * 0.9) for n in range(400))).stall(400 * NS, None) == ()


def test_growing_is_progress() -> None:
    liveness = feed(*(sample(n, rss=n * 64 * MIB) for n in range(400)))

    assert liveness.stall(400 * NS, None) == ()


def test_a_tree_that_does_nothing_for_long_is_stalled_with_evidence() -> None:
    liveness = feed(*(sample(n) for n in range(int(DEFAULT_PATIENCE_S) + 2)))

    evidence = liveness.stall(int(DEFAULT_PATIENCE_S + 1) * NS, Stage.LOAD_WEIGHTS)

    assert [item.kind for item in evidence] == ["sample", "sample"]


def test_waiting_for_slow_ranks_needs_more_patience() -> None:
    liveness = feed(*(sample(n) for n in range(400)))

    assert liveness.stall(400 * NS, Stage.DIST_INIT) == ()


def test_a_process_that_was_stopped_by_a_signal_is_stalled_soon() -> None:
    liveness = feed(*(sample(n, state="T") for n in range(12)))

    assert liveness.stall(12 * NS, Stage.LOAD_WEIGHTS)


def test_samples_that_hold_no_process_call_nothing_stalled_early() -> None:
    liveness = feed(Sample(0, 0, 0, ()), Sample(NS, 0, 0, ()))

    assert liveness.stall(2 * NS, None) == ()


def test_a_growing_log_is_progress() -> None:
    liveness = feed(*(sample(n, log=n * 10) for n in range(400)))

    assert liveness.stall(400 * NS, None) == ()
    assert liveness.pulse(399 * NS).quiet_s == 0


def test_housekeeping_is_no_progress() -> None:
    liveness = feed(*(sample(n, cpu_s=n * 0.005, read=n * 4096) for n in range(400)))

    assert liveness.stall(400 * NS, None)
