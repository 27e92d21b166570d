"""From the word after `--host` to an agent that answers."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from firedup.host.address import parse_host
from firedup.host.base import Host
from firedup.host.config import read_memory
from firedup.host.link import Agent
from firedup.host.link import open_agent as open_link


@asynccontextmanager
async def open_host(text: str = "local") -> AsyncIterator[Agent]:
    """An open agent on the host that `text` names. HostError when it does not start.

    UsageError when `text` names none, or what is remembered of the host cannot be read.
    """
    async with open_link(recall_host(text)) as agent:
        yield agent


def recall_host(text: str) -> Host:
    """The host that `text` names, with the interpreter that is remembered for it."""
    host = parse_host(text)
    python = read_memory(host.name, os.environ).python
    return replace(host, python=python) if python else host
