"""Real servers launched through a real agent and keeper, and nothing of them left afterwards."""

import contextlib
import os
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import psutil
import pytest
from workbench import Knowledge, Site, free_port

from firedup.core.block import OPENERS
from firedup.host.base import local_host
from firedup.host.link import Agent, open_agent
from firedup.profile.load import load_catalogue
from firedup.profile.match import build_matcher


@pytest.fixture(scope="session")
def knowledge() -> Knowledge:
    catalogue = load_catalogue()
    return Knowledge(catalogue, build_matcher(catalogue, openers=OPENERS))


@pytest.fixture
def state() -> Iterator[Path]:
    """Where this test's runs are; whatever was started in it is killed afterwards."""
    folder = Path(os.environ["XDG_STATE_HOME"])
    yield folder
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            ours = process.environ().get("XDG_STATE_HOME") == str(folder)
            if ours and process.pid != os.getpid():
                process.send_signal(signal.SIGKILL)


@pytest.fixture
async def agent(state: Path) -> AsyncIterator[Agent]:
    async with open_agent(local_host()) as opened:
        yield opened


@pytest.fixture
async def site(agent: Agent, knowledge: Knowledge, tmp_path: Path) -> Site:
    return Site(agent, knowledge, tmp_path / "bin", free_port())
