"""A link on the test's own clock: what its tries meet, and what was told about it."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from firedup.core.error import HostError
from firedup.host.base import LinkError, SilenceError, Trouble
from firedup.host.link import Agent
from firedup.session.linked import Patience

CUT = LinkError(Trouble.LINK_DOWN, "the line was cut")
REFUSED = LinkError(Trouble.UNREACHED, "connection refused")


class Story:
    """A link whose clock is the test's, and what was told about it."""

    def __init__(self, *tries: HostError | None, lost_after_s: float | None = 600.0) -> None:
        self.now_s = 0.0
        self.told: list[tuple[str, float | None]] = []
        self._tries = list(tries)
        self.silent: list[str] = []
        self.silent_s = 0.0  # of the link that breaks next
        self.patience = Patience(
            lost_after_s,
            random.Random(7),
            self.open,
            self.sleep,
            lambda: self.now_s,
            lambda _: self.silent_s,
        )

    async def link_up(self, agent: Agent) -> None:
        self.told.append(("up", None))

    def link_down(self, error: HostError, pause_s: float | None) -> None:
        self.told.append((error.what, pause_s))

    def file_silent(self, error: SilenceError) -> None:
        self.silent.append(error.path)

    @asynccontextmanager
    async def open(self, agent: Agent, try_s: float) -> AsyncIterator[Agent]:
        failure = self._tries.pop(0) if self._tries else None
        if failure is not None:
            self.now_s += min(try_s, 5.0)
            raise failure
        yield agent

    async def sleep(self, pause_s: float) -> None:
        self.now_s += pause_s

    @property
    def pauses_s(self) -> list[float]:
        return [pause_s for _, pause_s in self.told if pause_s is not None]


def break_until(turn: int, story: Story, sound_s: float = 0.0) -> Callable[[Agent], object]:
    """Work whose link breaks each time before its turn `turn`."""
    turns = iter(range(turn))

    async def work(agent: Agent) -> None:
        story.now_s += sound_s
        if next(turns, None) is not None:
            raise CUT

    return work
