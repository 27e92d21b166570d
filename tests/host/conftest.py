"""An agent on this machine with its own state folder, and servers that never outlive a test."""

import asyncio
import secrets
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from ear import Ear
from leftover import kill_left

from firedup.host.base import local_host
from firedup.host.launch import Launch, launch_server
from firedup.host.link import Agent, open_agent
from firedup.host.manifest import Manifest, new_run_id

Launcher = Callable[..., Awaitable[Launch]]


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The state folder of this test's hosts; what was started in it is killed afterwards."""
    folder = tmp_path / "state"
    monkeypatch.setenv("XDG_STATE_HOME", str(folder))
    yield folder
    kill_left(folder)


@pytest.fixture
async def agent(state: Path) -> AsyncIterator[Agent]:
    async with open_agent(local_host()) as opened:
        yield opened


@pytest.fixture
def launch(agent: Agent) -> Launcher:
    """Launches a command as a run, through another agent where `on` names one.

    Other keywords go to the manifest.
    """

    async def start(
        *argv: str, on: Agent = agent, will_watch: bool = False, **manifest: Any
    ) -> Launch:
        run_id = new_run_id(time.time_ns(), "test", secrets.token_hex(4))
        order = Manifest(run_id, "test", argv, **manifest)
        return await launch_server(on, order, will_watch=will_watch)

    return start


@pytest.fixture
def is_alive() -> Callable[[int], bool]:
    def ask(pid: int) -> bool:
        try:
            return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
        except psutil.NoSuchProcess:
            return False

    return ask


@pytest.fixture
async def ear() -> AsyncIterator[Ear]:
    listening = Ear()
    server = await asyncio.start_server(listening.serve, "127.0.0.1", 0)
    listening.port = server.sockets[0].getsockname()[1]
    yield listening
    server.close()


@pytest.fixture
def port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


@pytest.fixture
def mood(tmp_path: Path) -> Path:
    """The folder whose files say what the server answers."""
    folder = tmp_path / "mood"
    folder.mkdir()
    return folder
