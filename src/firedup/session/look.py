"""Asks the keeper of a server how it stands, and again when it does not answer for a while."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from firedup.core.error import HostError, UsageError
from firedup.host.base import OperationError
from firedup.host.containerlog import ContainerLog
from firedup.host.link import Agent
from firedup.host.source import Source
from firedup.host.standing import Standing

# How often its keeper is asked about a server that nothing else tells the end of.
LOOK_S = 5.0


async def look_patiently(agent: Agent, source: Source, note: Callable[[str], None]) -> Standing:
    """How the server stands; one that was removed has ended.

    A keeper that does not answer may be busy or just being restarted, and the server goes on
    without it: that is noted, and it is asked again for as long as the link stands.
    """
    while True:
        try:
            return await source.look(agent)
        except UsageError:
            return Standing("", is_running=False, words="removed")
        except OperationError:
            raise
        except HostError as error:
            if not agent.is_alive:
                raise
            note(error.what)
        await asyncio.sleep(LOOK_S)


async def recall_memory(
    agent: Agent, source: ContainerLog, standing: Standing, wall_ns: int
) -> bool | None:
    """Whether a container that stood so and is gone had too little memory; None if nobody knows.

    `wall_ns` is now by the host's wall clock.
    """
    if not standing.started_wall_ns:
        return None
    try:
        return await source.recall_memory(agent, standing, wall_ns)
    except HostError:
        if not agent.is_alive:
            raise
        return None
