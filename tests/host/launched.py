"""What tests ask of a run that they launched."""

import asyncio
import os
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from pathlib import Path

from firedup.core.event import Sample
from firedup.host.file import read_file
from firedup.host.launch import Launch
from firedup.host.link import Agent
from firedup.host.run import ServerExit, follow_samples, watch_run

LIMIT_S = 100.0


Launcher = Callable[..., Awaitable[Launch]]


def run_of(launched: Launch) -> str:
    return Path(launched.folder).name


async def exit_of(agent: Agent, launched: Launch) -> ServerExit:
    async with asyncio.timeout(LIMIT_S), aclosing(watch_run(agent, run_of(launched))) as events:
        async for event in events:
            if isinstance(event, ServerExit):
                return event
    raise AssertionError("the run was left without an exit")


def samples_of(agent: Agent, launched: Launch) -> aclosing[AsyncGenerator[Sample, None]]:
    return aclosing(follow_samples(agent, launched.folder))


async def log_of(agent: Agent, launched: Launch) -> bytes:
    return await read_file(agent, launched.log)


def fifo_in(agent: Agent) -> str:
    """A folder with a pipe called go, by which a test says when its server shall end."""
    folder = Path(agent.hello["state_folder"])
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "go").exists():
        os.mkfifo(folder / "go")
    return str(folder)
