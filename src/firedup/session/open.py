"""From the word after `--host` to an agent that answers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from firedup.core.error import UsageError
from firedup.host.base import Host, local_host
from firedup.host.link import Agent
from firedup.host.link import open_agent as open_link


def parse_host(text: str) -> Host:
    """The host that `text` names. UsageError for one that firedup cannot reach."""
    if text in ("", "local", "localhost"):
        return local_host()
    raise UsageError(
        f"firedup cannot reach {text!r} yet: only the local host is supported",
        todo="Leave --host out, or run firedup on that machine.",
    )


@asynccontextmanager
async def open_host(text: str = "local") -> AsyncIterator[Agent]:
    """An open agent on the host that `text` names. HostError when it does not start."""
    async with open_link(parse_host(text)) as agent:
        yield agent
