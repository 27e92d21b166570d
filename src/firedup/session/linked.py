"""Keeps work going on a host across broken links: each new link is a new agent."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from firedup.core.error import HostError
from firedup.host.base import OperationError
from firedup.host.link import Agent, open_agent

# Pauses before each new try; after the last one the contact is given up.
RECONNECT_S = (0.2, 1.0, 3.0, 10.0, 20.0)
# A link that held for this long was sound: its break is a new story.
SOUND_S = 20.0


async def run_linked(
    agent: Agent,
    work: Callable[[Agent], Awaitable[None]],
    say_up: Callable[[Agent], Awaitable[None]],
    say_down: Callable[[Exception], None],
) -> bool:
    """Do `work` with `agent`, and again with a new agent whenever the link breaks.

    True when the work ended, False when the contact was given up. What the host refuses
    (OperationError) is raised: a new link would not change it.
    """
    if await _run_until_broken(agent, work, say_down):
        return True
    pauses_s = list(RECONNECT_S)
    while pauses_s:
        await asyncio.sleep(pauses_s.pop(0))
        begun_s = time.monotonic()
        try:
            async with open_agent(agent.host) as renewed:
                await say_up(renewed)
                if await _run_until_broken(renewed, work, say_down):
                    return True
            if time.monotonic() - begun_s > SOUND_S:
                pauses_s = list(RECONNECT_S)
        except OperationError:
            raise
        except HostError as error:
            say_down(error)
    return False


async def _run_until_broken(
    agent: Agent, work: Callable[[Agent], Awaitable[None]], say_down: Callable[[Exception], None]
) -> bool:
    """True when the work ended; False when the link broke. Refusals are raised singly."""
    refusals: list[Exception] = []
    is_whole = True
    try:
        await _in_own_task(work(agent))
    except* OperationError as group:
        refusals = [_first(group)]
    except* HostError as group:
        say_down(_first(group))
        is_whole = False
    if refusals:
        raise refusals[0]
    return is_whole


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
