"""What tests wait for when a keeper works by itself, and how they end its server."""

import asyncio
import contextlib
import os
import signal
from pathlib import Path

import psutil

from firedup.host.launch import Launch
from firedup.host.link import Agent
from firedup.host.process import wait_gone

LIMIT_S = 40.0


async def ended(agent: Agent, launched: Launch) -> None:
    """Returns once the keeper has done all that it had to do."""
    await wait_gone(agent, launched.keeper.pid, launched.keeper.start_ticks, timeout_s=LIMIT_S)


async def told_by(path: Path, text: str) -> None:
    """Returns once a detached process has written `text`."""
    async with asyncio.timeout(LIMIT_S):
        while not path.exists() or text not in path.read_text():
            await asyncio.sleep(0.02)


async def nobody_tells(state: Path) -> None:
    """Returns once no helper of a keeper is left."""
    async with asyncio.timeout(LIMIT_S):
        while any(is_helper(process, state) for process in psutil.process_iter()):
            await asyncio.sleep(0.02)


def is_helper(process: psutil.Process, state: Path) -> bool:
    with contextlib.suppress(psutil.Error):
        is_ours = process.environ().get("XDG_STATE_HOME") == str(state)
        return is_ours and process.name() == "firedup-helper"
    return False


def end(launched: Launch, number: int = signal.SIGTERM) -> None:
    os.kill(launched.server.pid, number)
