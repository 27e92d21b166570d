"""What the processes of the invented Kimi starts use: CPU, memory and reads over time."""

from __future__ import annotations

import random

from firedup.core.model import Process
from firedup.demo.kimi_timeline import (
    BAR_FULL_S,
    DIST_S,
    DRAFT_S,
    END_S,
    LATE_S,
    LOAD_S,
    LOADED_S,
    POOL_S,
    SPAWN_S,
)
from firedup.demo.recording import Curve, Worker

MAIN_PID = 41200
FIRST_RANK_PID = 41290
GB = 10**9
WEIGHTS_GB = 547.0
FREE_GB = 1948.0
TICKS = 120_964_100  # when the launcher began, in clock ticks since boot


def workers() -> tuple[Worker, ...]:
    """Return the launcher, its resource tracker, eight ranks and the detokenizer.

    Reading goes on long after the bar is full, because the shards are mapped and their pages come
    in while the INT4 weights are repacked: that is what 313 silent seconds look like from outside.
    """
    rng = random.Random(547)  # noqa: S311 - small differences between ranks, no secret
    return (
        _worker(MAIN_PID, "sglang", 0.0, ((0, 0), (7, 6.5), (22, 14), (END_S, 22)), 2.1),
        _worker(MAIN_PID + 3, "python3", 7.0, ((7, 0), (9, 0.1)), 0.03),
        *(_rank(rank, rng) for rank in range(8)),
        _worker(
            FIRST_RANK_PID + 8,
            "sglang::detoken",
            SPAWN_S,
            ((SPAWN_S, 0), (DIST_S, 11), (END_S, 12)),
            1.7,
        ),
    )


def free_memory() -> Curve:
    """Return the host's available memory; mapped pages can be dropped and so stay available."""
    points = (
        (0.0, FREE_GB),
        (DIST_S, FREE_GB - 30),
        (BAR_FULL_S, FREE_GB - 60),
        (LOADED_S, FREE_GB - 90),
    )
    return Curve(tuple((at_s, gb * GB) for at_s, gb in points))


def _worker(
    pid: int, name: str, begin_s: float, cpu: tuple[tuple[float, float], ...], rss_gb: float
) -> Worker:
    process = Process(pid, TICKS + int(begin_s * 100), MAIN_PID, name, "S", 0.0, 0)
    if pid == MAIN_PID:
        process = Process(pid, TICKS, 1, name, "S", 0.0, 0)
    grown = Curve(((begin_s, 0.02 * GB), (begin_s + 15.0, rss_gb * GB)))
    return Worker(process, begin_s, Curve(cpu), grown, Curve(((begin_s, 0.0), (DIST_S, 0.4 * GB))))


def _rank(rank: int, rng: random.Random) -> Worker:
    share = WEIGHTS_GB / 8
    slow = 1.0 + rng.uniform(-0.04, 0.04)
    loaded_s = LOADED_S + LATE_S[rank]
    process = Process(
        FIRST_RANK_PID + rank, TICKS + 850 + rank * 7, MAIN_PID, "sglang::schedul", "S", 0.0, 0
    )
    cpu = (
        (SPAWN_S, 0.0),
        (DIST_S, 14.0 * slow),  # imports
        (LOAD_S, 17.0 * slow),  # meets the other ranks
        (BAR_FULL_S, 61.0 * slow),  # maps the shards
        (loaded_s, 362.0 * slow),  # repacks the weights
        (POOL_S + 1.0, 362.0 * slow + 0.6),  # waits for the slower ranks
        (END_S, 362.0 * slow + 300.0),  # launches and captures kernels
    )
    read = (
        (SPAWN_S, 0.0),
        (LOAD_S, 0.6),
        (BAR_FULL_S, 0.31 * share * slow),
        (loaded_s, share + 0.6),
        (DRAFT_S, share + 0.6),
        (DRAFT_S + 7.0, share + 1.0),
    )
    memory = (
        (SPAWN_S, 0.02),
        (DIST_S, 3.4),
        (LOAD_S, 4.1),
        (BAR_FULL_S, 0.31 * share * slow + 4.1),
        (loaded_s, share + 5.0),
        (loaded_s + 3.0, 9.0),  # the shards are unmapped
        (END_S, 10.5),
    )
    return Worker(
        process,
        SPAWN_S + rank * 0.07,
        Curve(cpu),
        Curve(tuple((at_s, gb * GB) for at_s, gb in memory)),
        Curve(tuple((at_s, gb * GB) for at_s, gb in read)),
    )
