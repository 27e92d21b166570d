"""The keeper outlives its clients, records its server's end, and ends with its run."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path

import pytest
from launched import LIMIT_S, Launcher, exit_of, fifo_in, run_of

from firedup.core.event import KeeperGone
from firedup.host.base import OperationError, local_host
from firedup.host.launch import launch_server
from firedup.host.link import Agent, open_agent
from firedup.host.manifest import Manifest
from firedup.host.process import wait_gone
from firedup.host.run import ServerExit, find_run, watch_run


async def test_a_server_whose_keeper_cannot_be_recorded_is_ended_and_the_launch_fails(
    agent: Agent, is_alive: Callable[[int], bool]
) -> None:
    blocked = Path(agent.hello["runs_folder"], "one", "keeper.json")
    manifest = Manifest("one", "a", ("sh", "-c", "sleep 60"), log=str(blocked / "x.log"))
    with pytest.raises(OperationError, match=r"keeper\.json cannot be written") as caught:
        await launch_server(agent, manifest)
    run = await find_run(agent, "one")

    assert (caught.value.code, caught.value.evidence) == ("exec-failed", "EISDIR")
    assert run.exit is not None
    assert run.exit.error == "keeper.json cannot be written: Is a directory"
    assert not is_alive(run.exit.event.pid)
    assert [path.name for path in blocked.parent.glob("*.new")] == []


async def test_an_end_that_cannot_be_written_is_kept_until_it_can(
    agent: Agent, launch: Launcher
) -> None:
    launched = await launch("sh", "-c", "read x < go; exit 7", cwd=fifo_in(agent))
    folder = Path(launched.folder)
    (folder / "exit.json").mkdir()
    (Path(fifo_in(agent)) / "go").write_text("\n")
    await wait_gone(agent, launched.server.pid, launched.server.start_ticks, timeout_s=LIMIT_S)
    async with asyncio.timeout(LIMIT_S):
        while "exit.json not written" not in (folder / "keeper.log").read_text():
            await agent.call("clock")
    (folder / "exit.json").rmdir()
    ended = await exit_of(agent, launched)

    assert (ended.event.code, ended.error) == (7, None)
    assert list(folder.glob("*.new")) == []
    await wait_gone(agent, launched.keeper.pid, launched.keeper.start_ticks, timeout_s=LIMIT_S)


async def test_a_keeper_ends_when_its_run_folder_is_removed(agent: Agent, launch: Launcher) -> None:
    launched = await launch("sleep", "60")
    Path(launched.folder).rename(Path(launched.folder + "-gone"))
    os.kill(launched.server.pid, signal.SIGTERM)

    await wait_gone(agent, launched.keeper.pid, launched.keeper.start_ticks, timeout_s=LIMIT_S)


CLIENT = """
import asyncio
from firedup.host.base import local_host
from firedup.host.launch import launch_server
from firedup.host.link import open_agent
from firedup.host.manifest import Manifest

async def main():
    async with open_agent(local_host()) as agent:
        argv = ("sh", "-c", "read x < go; exit 5")
        await launch_server(agent, Manifest("alone", "alone", argv, cwd="CWD"))
        print("launched", flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


async def test_the_keeper_and_the_server_survive_their_client(
    state: Path, is_alive: Callable[[int], bool]
) -> None:
    code = CLIENT.replace("CWD", str(state.parent))
    os.mkfifo(state.parent / "go")
    client = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, stdout=asyncio.subprocess.PIPE
    )
    assert client.stdout is not None
    assert await client.stdout.readline() == b"launched\n"
    client.kill()
    await client.wait()

    async with open_agent(local_host()) as agent:
        run = await find_run(agent, "alone")
        assert run.is_server_alive
        assert run.is_keeper_alive
        await asyncio.to_thread((state.parent / "go").write_text, "x\n")
        async with asyncio.timeout(LIMIT_S):
            (event,) = [event async for event in watch_run(agent, "alone")]

    assert isinstance(event, ServerExit)
    assert event.event.code == 5


async def test_a_keeper_that_is_killed_leaves_its_server_unkept(
    agent: Agent, launch: Launcher, is_alive: Callable[[int], bool]
) -> None:
    launched = await launch("sleep", "60")
    async with asyncio.timeout(LIMIT_S), aclosing(watch_run(agent, run_of(launched))) as events:
        os.kill(launched.keeper.pid, signal.SIGKILL)
        first = await anext(events)
        run = await find_run(agent, run_of(launched))
        os.kill(launched.server.pid, signal.SIGKILL)
        second = await anext(events)

    assert isinstance(first, KeeperGone)
    assert run.is_unkept
    assert isinstance(second, ServerExit)
    assert (second.event.code, second.event.signal) == (None, None)
    assert second.error == "the keeper is gone, so that nobody saw how the server ended"


async def test_a_keeper_heeds_no_gentle_signal(
    agent: Agent, launch: Launcher, is_alive: Callable[[int], bool]
) -> None:
    launched = await launch("sleep", "60")
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        os.kill(launched.keeper.pid, number)
    os.kill(launched.server.pid, signal.SIGTERM)
    ended = await exit_of(agent, launched)

    assert ended.event.signal == signal.SIGTERM


async def test_a_run_of_an_earlier_boot_has_ended_unseen(agent: Agent, launch: Launcher) -> None:
    launched = await launch("sleep", "60")
    path = Path(launched.folder, "keeper.json")
    keeper = json.loads(path.read_text())
    path.write_text(json.dumps({**keeper, "boot_id": "another"}))
    ended = await exit_of(agent, launched)

    assert ended.error == "the host was started again"
    assert not (await find_run(agent, run_of(launched))).is_server_alive
