"""Keeps work going on a host across broken links: each new link is a new agent."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Protocol

from firedup.core.error import HostError
from firedup.host.base import LinkError, OperationError, Trouble
from firedup.host.link import Agent, open_agent

FIRST_PAUSE_S, MOST_PAUSE_S = 0.25, 30.0
# A link that held for this long was sound: its break is a new story.
SOUND_S = 20.0
TRY_S = 30.0
LEAST_TRY_S = 1.0
_BREAKS = (Trouble.LINK_DOWN, Trouble.AGENT_DIED)


class Listener(Protocol):
    """Hears what becomes of the link."""

    async def link_up(self, agent: Agent) -> None:
        """A new agent answers; work goes on with it."""

    def link_down(self, error: HostError, pause_s: float | None) -> None:
        """The link broke or a try failed; the next one is made in `pause_s` (None: right now)."""


class LinkSpeaker:
    """Says in a line each that the link broke and that it is up again."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._is_down = False

    async def link_up(self, agent: Agent) -> None:  # noqa: ARG002 - the work is given it too
        """The link was renewed."""
        self._is_down = False
        self._say("the link is up again")

    def link_down(self, error: HostError, pause_s: float | None) -> None:  # noqa: ARG002 - a Listener is told it
        """Each break is said once, however many tries follow."""
        if not self._is_down:
            self._say(f"the link is down: {error.what}")
        self._is_down = True


@dataclass(frozen=True, slots=True)
class Patience:
    """How broken links are renewed.

    A host that was not reached for `lost_after_s` is given up (None: never). All times count while
    this machine is awake, so that a laptop's sleep is no absence of the host.
    """

    lost_after_s: float | None = 600.0
    random: random.Random = field(default_factory=random.Random)
    open: Callable[[Agent, float], AbstractAsyncContextManager[Agent]] = lambda agent, try_s: (
        open_agent(agent.host, start_timeout_s=try_s)
    )
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    now_s: Callable[[], float] = lambda: asyncio.get_running_loop().time()

    def pauses_s(self) -> Iterator[float]:
        """Longer and longer, and no two clients in step."""
        most_s = FIRST_PAUSE_S
        while True:
            yield most_s * (0.5 + self.random.random() / 2)
            most_s = min(MOST_PAUSE_S, most_s * 2)


async def run_linked(
    agent: Agent,
    work: Callable[[Agent], Awaitable[None]],
    listener: Listener,
    patience: Patience,
) -> bool:
    """Do `work` with `agent`, and again with a new agent whenever the link breaks.

    True when the work ended, False when the host was given up. What the host refuses
    (OperationError) and what fails over a link that stands is raised: a new one would not help.
    """
    try:
        return await _renew_until_done(agent, work, listener, patience)
    except _Failed as failed:
        raise failed.error from None


class _Failed(Exception):  # noqa: N818 - no error of its own, it carries one
    """The work failed, and not for want of a link."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


async def _renew_until_done(
    agent: Agent,
    work: Callable[[Agent], Awaitable[None]],
    listener: Listener,
    patience: Patience,
) -> bool:
    error = await _run_until_broken(agent, work)
    pauses_s = patience.pauses_s()
    down_s = patience.now_s()
    while error is not None:
        left_s = _left_s(patience, down_s)
        if left_s <= 0:
            return False
        pause_s = min(next(pauses_s), max(left_s / 2, FIRST_PAUSE_S))
        listener.link_down(error, pause_s)
        await patience.sleep(pause_s)
        listener.link_down(error, None)
        try_s = max(LEAST_TRY_S, min(TRY_S, _left_s(patience, down_s)))
        up_s: float | None = None
        try:
            async with patience.open(agent, try_s) as renewed:
                await listener.link_up(renewed)
                up_s = patience.now_s()
                error = await _run_until_broken(renewed, work)
        except OperationError:
            raise
        except HostError as failure:
            error = error if up_s is not None and error is None else failure
        if up_s is not None:
            down_s = patience.now_s()
            if down_s - up_s > SOUND_S:
                pauses_s = patience.pauses_s()
    return True


def give_up(agent: Agent, patience: Patience) -> LinkError:
    """The error for a host that was not reached for too long."""
    host = agent.host.name
    what = f"{host}: not reached for {patience.lost_after_s:g} s"
    return LinkError(Trouble.UNREACHED, what, where=host)


def _left_s(patience: Patience, down_s: float) -> float:
    if patience.lost_after_s is None:
        return float("inf")
    return patience.lost_after_s - (patience.now_s() - down_s)


async def _run_until_broken(
    agent: Agent, work: Callable[[Agent], Awaitable[None]]
) -> HostError | None:
    """What broke the link; None when the work ended. _Failed with the first other error."""
    refusals: list[Exception] = []
    broken: HostError | None = None
    try:
        await _in_own_task(work(agent))
    except* OperationError as group:
        refusals = [_first(group)]
    except* HostError as group:
        first = _first(group)
        if isinstance(first, HostError) and _is_break(agent, first):
            broken = first
        else:
            refusals.append(first)
    if refusals:
        raise _Failed(refusals[0])
    return broken


def _is_break(agent: Agent, error: HostError) -> bool:
    """Whether it was the link that failed, not something on the host that is asked through it.

    A call that gets no answer tells of the link before its end is known.
    """
    return not agent.is_alive or (isinstance(error, LinkError) and error.trouble in _BREAKS)


async def _in_own_task(work: Awaitable[None]) -> None:
    """Await `work`, and end as cancelled when cancelled, whatever `work` says to that.

    A task group that is cancelled while one of its tasks fails raises that failure alone.
    """
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait([task])
    finally:
        task.cancel()
        await asyncio.wait([task])
        _ = task.cancelled() or task.exception()  # or asyncio complains that nobody looked
    task.result()


def _first(group: BaseExceptionGroup[Exception]) -> Exception:
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error if isinstance(error, Exception) else RuntimeError(str(error))
