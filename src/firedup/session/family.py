"""The processes that belong to a server, those that left its tree too."""

from __future__ import annotations

from firedup.host.base import OperationError
from firedup.host.link import Agent
from firedup.host.process import ProcessFacts, find_holders, find_members
from firedup.host.run import RunState


async def find_family(agent: Agent, state: RunState) -> tuple[ProcessFacts, ...]:
    """The living processes of a launched run, orphans included."""
    server, keeper = state.server, state.keeper
    return await find_members(
        agent,
        state.id,
        (server.pid, server.start_ticks) if server else None,
        (keeper.pid, keeper.start_ticks) if keeper else None,
    )


async def find_writers(agent: Agent, log: str) -> frozenset[int]:
    """The pids of the processes that have `log` open for writing; none when it is not there."""
    try:
        found = await find_holders(agent, log)
    except OperationError as error:
        if error.code != "not-found":
            raise
        return frozenset()
    return frozenset(holder.process.pid for holder in found.holders if holder.is_writing)
