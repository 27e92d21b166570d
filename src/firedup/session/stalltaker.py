"""Has the stacks of all ranks taken once a watched server stands still, before anybody stops it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from firedup.core.event import Event, Noted
from firedup.core.model import Snapshot, Verdict
from firedup.host.link import Agent
from firedup.profile.pipeline import Pipeline
from firedup.session.stacks import LIMIT_S, Place, try_taking

# What a watch waits for meanwhile, in the user's words.
TAKING = "the stacks of its processes"
_STANDING = (Verdict.STALLED, Verdict.TIMED_OUT)
# A server that stalls again and again is not looked into without end.
MOST_TAKEN = 3


@dataclass(slots=True)
class StallTaker:
    """`heed` each snapshot; `keep` runs over one link. The watch goes on while it `is_busy`.

    What another session has taken of the same stall is not taken again.
    """

    pipeline: Pipeline
    feed: Callable[[Event], None]
    place: Place = field(default_factory=Place)
    limit_s: float = LIMIT_S
    _since_s: float | None = None  # of the present standstill
    _count: int = 0
    _wanted: asyncio.Event = field(default_factory=asyncio.Event)

    def heed(self, snapshot: Snapshot) -> Snapshot:
        """Ask for stacks when a server begins to stand still; `snapshot` is the present one.

        Returns it, waiting for them if they are not there yet.
        """
        explanation = snapshot.explanation
        is_alive = bool(snapshot.processes) and snapshot.link is None and not snapshot.is_final
        if explanation.verdict not in _STANDING:
            self._since_s = None
        elif self._since_s is None and is_alive:
            self._since_s = time.monotonic()
            is_known = not self._count and explanation.stacks is not None
            if not is_known and self._count < MOST_TAKEN:
                self._count += 1
                self._wanted.set()
        return replace(snapshot, waiting_for=TAKING) if self.is_busy else snapshot

    @property
    def is_busy(self) -> bool:
        """Whether stacks are being taken, within the time that this may last."""
        if not self._wanted.is_set() or self._since_s is None:
            return False
        return time.monotonic() - self._since_s < 2 * self.limit_s + 1.0

    async def keep(self, agent: Agent) -> None:
        """Take what is wanted through `agent`; over a new link what the old one did not bring."""
        while True:
            await self._wanted.wait()
            found = await try_taking(agent, self.pipeline.crew, self.place, limit_s=self.limit_s)
            self._wanted.clear()
            now_ns = self.pipeline.snapshot().now_ns
            self.feed(Noted(now_ns, found) if isinstance(found, str) else found)
