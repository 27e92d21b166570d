"""Measures how far a host's clocks are ahead of the client's, over a link that takes time."""

from __future__ import annotations

import time

from firedup.core.node import ClockOffset
from firedup.host.link import Agent

# The quickest of a few round trips was held up the least, and says most.
ROUNDS = 5
LIMIT_S = 10.0


async def measure_clock(agent: Agent, *, rounds: int = ROUNDS) -> ClockOffset:
    """The best of `rounds` round trips. HostError when there is no answer."""
    best: tuple[int, ClockOffset] | None = None
    for _ in range(rounds):
        asked_ns, asked_wall_ns = time.monotonic_ns(), time.time_ns()
        answer = await agent.call("clock", timeout_s=LIMIT_S)
        trip_ns = time.monotonic_ns() - asked_ns
        half_ns = trip_ns // 2
        offset = ClockOffset(
            answer["boottime_ns"] - (asked_ns + half_ns),
            answer["wall_ns"] - (asked_wall_ns + half_ns),
            half_ns + 1,
        )
        if best is None or trip_ns < best[0]:
            best = (trip_ns, offset)
    assert best is not None  # noqa: S101 - there is at least one round
    return best[1]
