"""Real servers launched through a real agent and keeper, and nothing of them left afterwards."""

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from compiled import builtin_catalogue, builtin_matcher
from leftover import kill_left
from port import free_port
from workbench import RUNS, Knowledge, Site

from firedup.core.event import LogData
from firedup.host.base import local_host
from firedup.host.link import Agent, open_agent
from firedup.profile.pipeline import Pipeline


@pytest.fixture(scope="session")
def knowledge() -> Knowledge:
    """The whole catalogue, with what is compiled on first use compiled already."""
    matcher = builtin_matcher()
    pipeline = Pipeline(matcher, year=2026)
    pipeline.feed(LogData(0, 0, 0, (RUNS / "sglang" / "s01_success.log").read_bytes()))
    return Knowledge(builtin_catalogue(), matcher)


@pytest.fixture
def state() -> Iterator[Path]:
    """Where this test's runs are; whatever was started in it is killed afterwards."""
    folder = Path(os.environ["XDG_STATE_HOME"])
    yield folder
    kill_left(folder)


@pytest.fixture
async def agent(state: Path) -> AsyncIterator[Agent]:
    async with open_agent(local_host()) as opened:
        yield opened


@pytest.fixture
async def site(agent: Agent, knowledge: Knowledge, tmp_path: Path) -> AsyncIterator[Site]:
    place = Site(agent, knowledge, tmp_path / "bin", free_port())
    yield place
    for watch in place.watches:
        await watch.aclose()
