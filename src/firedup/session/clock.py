"""The host's boottime now, reckoned from its answers and the time since."""

from __future__ import annotations

import time

from firedup.host.link import Agent


class HostClock:
    """Reads the host's clocks once; between answers the client only counts what passed."""

    def __init__(self, boottime_ns: int, wall_ns: int, read_ns: int) -> None:
        self._boottime_ns = boottime_ns
        self._wall_ns = wall_ns
        self._read_ns = read_ns

    @classmethod
    async def read(cls, agent: Agent) -> HostClock:
        """Ask the host; half of the round trip is taken as the way back."""
        asked_ns = time.monotonic_ns()
        answer = await agent.call("clock")
        middle_ns = (asked_ns + time.monotonic_ns()) // 2
        return cls(answer["boottime_ns"], answer["wall_ns"], middle_ns)

    def boottime_ns(self) -> int:
        """The host's CLOCK_BOOTTIME now, in nanoseconds."""
        return self._boottime_ns + time.monotonic_ns() - self._read_ns

    def wall_ns(self) -> int:
        """The host's wall clock now, in nanoseconds since the epoch."""
        return self._wall_ns + time.monotonic_ns() - self._read_ns
