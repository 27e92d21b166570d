"""Commands of --on run on the host, once, and nothing from a log becomes part of them."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from firedup.host.base import OperationError
from firedup.host.link import Agent
from firedup.host.manifest import Hook

if TYPE_CHECKING:
    from tests.host.conftest import Launcher


async def test_a_hook_sees_the_facts_in_its_environment(
    agent: Agent, launch: "Launcher", tmp_path: Path
) -> None:
    fifo = tmp_path / "told"
    fifo.touch()
    command = f'printf "%s|%s" "$FIREDUP_EVENT" "$FIREDUP_CAUSE_LINE" > {fifo}'
    started = await launch("sleep", "60", hooks=(Hook("crashed", command),))
    facts = {"cause_line": "$(touch /tmp/firedup-was-here); `id`"}

    result = await agent.call("hook", run=started.folder, on="crashed", facts=facts)

    assert result == {"started": 1}
    await _until_written(fifo)
    assert fifo.read_text() == "crashed|" + facts["cause_line"]


async def test_a_hook_runs_once_whoever_asks(agent: Agent, launch: "Launcher") -> None:
    started = await launch("sleep", "60", hooks=(Hook("ready", "true"),))

    first = await agent.call("hook", run=started.folder, on="ready", facts={})
    second = await agent.call("hook", run=started.folder, on="ready", facts={})

    assert (first["started"], second["started"]) == (1, 0)


async def test_other_events_start_nothing(agent: Agent, launch: "Launcher") -> None:
    started = await launch("sleep", "60", hooks=(Hook("ready", "true"),))

    assert await agent.call("hook", run=started.folder, on="stalled", facts={}) == {"started": 0}


async def test_what_a_hook_prints_is_kept(agent: Agent, launch: "Launcher") -> None:
    started = await launch("sleep", "60", hooks=(Hook("ready", "echo out; echo err >&2"),))

    await agent.call("hook", run=started.folder, on="ready", facts={})

    log = Path(started.folder) / "hooks.log"
    await _until_written(log, 8)
    assert sorted(log.read_text().split()) == ["err", "out"]


async def test_an_unknown_run_is_refused(agent: Agent) -> None:
    with pytest.raises(OperationError) as caught:
        await agent.call("hook", run="nothing-here", on="ready", facts={})

    assert caught.value.code == "not-found"


async def _until_written(path: Path, size: int = 1) -> None:
    """Waits, on the agent's side of the clock, until a detached command has written."""
    async with asyncio.timeout(100):
        while not path.exists() or path.stat().st_size < size:
            await asyncio.sleep(0.01)
