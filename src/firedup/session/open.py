"""From the word after `--host` to an agent that answers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from firedup.host.address import parse_host
from firedup.host.link import Agent
from firedup.host.link import open_agent as open_link


@asynccontextmanager
async def open_host(text: str = "local") -> AsyncIterator[Agent]:
    """An open agent on the host that `text` names. HostError when it does not start."""
    async with open_link(parse_host(text)) as agent:
        yield agent
