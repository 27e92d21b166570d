"""A log is printed byte for byte, whatever becomes of the link meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest
from workbench import LIMIT_S, Site

from firedup.host.base import LinkError, local_host
from firedup.host.link import Agent, open_agent
from firedup.session.linked import Patience
from firedup.session.log import copy_log
from firedup.session.registry import Run

PAST = b"".join(b"line %d of what was written before\n" % number for number in range(100_000))
DOWN, UP = "the link is down: local: the agent ended", "the link is up again"


@pytest.fixture
async def doomed(agent: Agent) -> AsyncIterator[Agent]:
    """An agent that a test may kill."""
    async with open_agent(local_host()) as opened:
        yield opened


async def launch_with_past(site: Site) -> Run:
    """A server that runs on in silence, with a long log."""
    run = await site.launch(site.serve(site.program("import signal\nsignal.pause()")))
    with Path(run.log).open("ab") as log:
        log.write(PAST)
    return run


class Reader:
    """Takes what is written, and does at some points of it what a test wants."""

    def __init__(self) -> None:
        self.taken = bytearray()
        self.said: list[str] = []
        self.lost: list[int | None] = []
        self.grown = asyncio.Event()
        self.doomed: Agent | None = None

    def write(self, data: bytes) -> None:
        self.taken += data
        self.grown.set()
        if self.doomed is not None:
            psutil.Process(self.doomed.hello["pid"]).kill()
            self.doomed = None

    async def copy(self, agent: Agent, run: Run, patience: Patience | None = None) -> None:
        await copy_log(
            agent,
            run,
            self.write,
            follow=True,
            say=self.said.append,
            say_lost=self.lost.append,
            patience=patience,
        )

    async def until(self, size: int) -> None:
        while len(self.taken) < size:
            self.grown.clear()
            await self.grown.wait()


async def test_a_link_that_breaks_over_the_past_and_over_what_is_new_costs_no_byte(
    site: Site, doomed: Agent
) -> None:
    run, reader = await launch_with_past(site), Reader()
    reader.doomed = doomed  # over the past
    async with asyncio.timeout(LIMIT_S):
        copying = asyncio.ensure_future(reader.copy(doomed, run))
        await reader.until(len(PAST))
        for child in psutil.Process().children():  # over what is new
            if child.pid != site.agent.hello["pid"] and "serve" in child.cmdline():
                child.kill()
        with Path(run.log).open("ab") as log:
            log.write(b"after the break\n")
        await reader.until(len(PAST) + 1)
        copying.cancel()
        await asyncio.wait([copying])

    assert bytes(reader.taken) == PAST + b"after the break\n"
    assert reader.said == [DOWN, UP, DOWN, UP]
    assert reader.lost == []


async def test_a_host_that_stays_away_is_given_up(site: Site, doomed: Agent) -> None:
    run, reader = await launch_with_past(site), Reader()
    reader.doomed = doomed

    with pytest.raises(LinkError, match="not reached for 0 s"):
        await reader.copy(doomed, run, Patience(lost_after_s=0.0))
    assert PAST.startswith(bytes(reader.taken))
