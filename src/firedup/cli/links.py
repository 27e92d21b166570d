"""From the words RUN and --host to the run and the agent of its host."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from firedup.cli.say import say_aside
from firedup.core.error import HostError, UsageError
from firedup.host.address import name_host
from firedup.host.base import OperationError
from firedup.host.link import Agent
from firedup.session.nodes import id_of_node
from firedup.session.open import open_host
from firedup.session.registry import Run, UnknownRunError, find_run
from firedup.store.index import index_path, read_index

LOCAL = "local"


class Links:
    """One open agent per host, made when it is first asked for. Made by `open_links`."""

    def __init__(self) -> None:
        self._open: dict[str, tuple[AsyncExitStack, Agent]] = {}

    async def agent(self, host: str) -> Agent:
        """The agent on `host`. HostError when it cannot be reached."""
        if host not in self._open:
            stack = AsyncExitStack()
            self._open[host] = stack, await stack.enter_async_context(open_host(host))
        return self._open[host][1]

    async def find(self, host: str | None, text: str) -> tuple[Agent, Run]:
        """The run that `text` names on `host`.

        Where nobody named a host (None) it is this machine, and when it knows no such run, the one
        other host on which the client's index knows it; that is said.
        """
        try:
            agent = await self.agent(host or LOCAL)
            return agent, await find_run(agent, text)
        except (UnknownRunError, HostError) as error:
            if host is not None or isinstance(error, OperationError):
                raise
            others = find_hosts(text)
            if not others:
                raise
            if len(others) > 1:
                raise UsageError(
                    f"{text} may be on {' or '.join(others)}, and is not on this machine",
                    todo=f"Say where: --host {others[0]}",
                ) from error
        say_aside(f"{text} is on {others[0]}")
        agent = await self.agent(others[0])
        return agent, await find_run(agent, text)

    async def close(self, *, but: Agent | None = None) -> None:
        """Close all, or all but one."""
        for host, (stack, agent) in list(self._open.items()):
            if agent is not but:
                del self._open[host]
                await stack.aclose()


@asynccontextmanager
async def open_links() -> AsyncIterator[Links]:
    """Links that are closed afterwards."""
    links = Links()
    try:
        yield links
    finally:
        await links.close()


@asynccontextmanager
async def open_run(host: str | None, text: str) -> AsyncIterator[tuple[Agent, Run]]:
    """The run that `text` names and an agent on its host, as `Links.find` has it."""
    async with open_links() as links:
        agent, run = await links.find(host, text)
        await links.close(but=agent)
        yield agent, run


def find_hosts(text: str) -> list[str]:
    """The hosts other than this machine on which the index knows a run `text`.

    A run on several hosts is found on any of them, so that it counts once: for its head's.
    """
    name = text.partition("~")[0]
    hosts: dict[str, str] = {}
    for run in read_index(index_path(os.environ)):
        if run.host != LOCAL and name and (run.name == name or run.id.startswith(text)):
            head = id_of_node(run.id, 0)
            if head not in hosts or run.id == head:
                hosts[head] = name_host(run.host)
    return list(dict.fromkeys(hosts.values()))
