"""The host's boottime now, reckoned from its answers and the time since."""

from __future__ import annotations

import time

from firedup.host.link import Agent

# Goes on while this machine sleeps, as the host's does: Linux's boottime, macOS's monotonic clock.
_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class HostClock:
    """Reads the host's clocks once; between answers the client only counts what passed."""

    def __init__(self, boottime_ns: int, wall_ns: int, read_ns: int) -> None:
        self._boottime_ns = boottime_ns
        self._wall_ns = wall_ns
        self._read_ns = read_ns

    @classmethod
    async def read(cls, agent: Agent) -> HostClock:
        """Ask the host; half of the round trip is taken as the way back."""
        asked_ns = passed_ns()
        answer = await agent.call("clock")
        middle_ns = (asked_ns + passed_ns()) // 2
        return cls(answer["boottime_ns"], answer["wall_ns"], middle_ns)

    def boottime_ns(self) -> int:
        """The host's CLOCK_BOOTTIME now, in nanoseconds."""
        return self._boottime_ns + passed_ns() - self._read_ns

    def wall_ns(self) -> int:
        """The host's wall clock now, in nanoseconds since the epoch."""
        return self._wall_ns + passed_ns() - self._read_ns


def passed_ns() -> int:
    """Time of this machine since some moment, its sleep included, in nanoseconds."""
    return time.clock_gettime_ns(_CLOCK)
