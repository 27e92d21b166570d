"""A run's processes, down to those that have left their parents, and the samples of them."""

import asyncio
import json
import sys
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path

import psutil
from launched import LIMIT_S, Launcher, exit_of, log_of, run_of

from firedup.host.link import Agent
from firedup.host.process import find_members, sample_tree, send_signal, wait_gone
from firedup.host.run import follow_samples


async def test_helpers_that_outlive_the_server_are_named(
    agent: Agent, launch: Launcher, is_alive: Callable[[int], bool]
) -> None:
    launched = await launch("sh", "-c", "sleep 60 & echo $!; exit 3")
    ended = await exit_of(agent, launched)
    helper = int(await log_of(agent, launched))

    assert ended.event.code == 3
    assert ended.event.survivors == (helper,)
    assert [s.pid for s in ended.survivors] == [helper]
    assert is_alive(launched.keeper.pid)

    members = await find_members(agent, run_of(launched))
    assert [m.pid for m in members] == [helper]
    survivor = ended.survivors[0]
    await send_signal(agent, survivor.pid, survivor.start_ticks, "SIGKILL")
    await wait_gone(agent, launched.keeper.pid, launched.keeper.start_ticks, timeout_s=LIMIT_S)
    assert not is_alive(helper)


async def test_helpers_that_overwrote_their_environment_are_known_by_their_session(
    agent: Agent, launch: Launcher
) -> None:
    launched = await launch("sh", "-c", "env -i sleep 60 & echo $!; exit 3")
    await exit_of(agent, launched)
    helper = int(await log_of(agent, launched))
    server = (launched.server.pid, launched.server.start_ticks)

    assert await find_members(agent, run_of(launched)) == ()
    assert [m.pid for m in await find_members(agent, run_of(launched), server)] == [helper]
    other = (await launch("sleep", "60")).server
    stranger = (other.pid, other.start_ticks - 1)  # the number of a session of somebody else
    assert await find_members(agent, run_of(launched), stranger) == ()


async def test_grandchildren_that_lost_their_parent_stay_in_the_tree(
    agent: Agent, launch: Launcher
) -> None:
    code = (
        "import os, time\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork() == 0:\n"
        "        print(os.getpid(), flush=True)\n"
        "        time.sleep(60)\n"
        "    os._exit(0)\n"
        "os.wait()\n"
        "time.sleep(60)\n"
    )
    launched = await launch(sys.executable, "-c", code)
    log = b""
    async with (
        asyncio.timeout(LIMIT_S),
        aclosing(follow_samples(agent, launched.folder)) as samples,
    ):
        async for sample in samples:
            log = await log_of(agent, launched)
            if log and int(log) in [p.pid for p in sample.processes]:
                break

    assert sample.processes[0].pid == launched.server.pid
    assert {p.pid: p.parent for p in sample.processes}[int(log)] == launched.keeper.pid
    assert sample.log_size >= 0
    assert sample.memory_available_bytes is not None


async def test_orphans_that_end_are_reaped_by_the_keeper(agent: Agent, launch: Launcher) -> None:
    launched = await launch("sh", "-c", "(sh -c 'exec true' & ) ; sleep 60")
    async with (
        asyncio.timeout(LIMIT_S),
        aclosing(follow_samples(agent, launched.folder)) as samples,
    ):
        async for sample in samples:
            if len(sample.processes) == 2:
                break

    zombies = [p for p in psutil.Process(launched.keeper.pid).children() if p.status() == "zombie"]
    assert zombies == []


async def test_samples_come_again_from_the_moment_asked_for(agent: Agent, launch: Launcher) -> None:
    launched = await launch("sleep", "60")
    async with asyncio.timeout(LIMIT_S):
        async with aclosing(follow_samples(agent, launched.folder)) as samples:
            first, second = await anext(samples), await anext(samples)
        async with aclosing(
            follow_samples(agent, launched.folder, since_ns=first.at_ns)
        ) as samples:
            again = await anext(samples)

    assert again == second
    assert second.at_ns > first.at_ns
    assert first.processes[0].name == "sleep"


async def test_samples_that_were_rotated_come_first(agent: Agent, launch: Launcher) -> None:
    launched = await launch("true")
    await exit_of(agent, launched)
    folder = Path(launched.folder)
    line = (folder / "samples.jsonl").read_text().splitlines()[0]
    old = json.dumps({**json.loads(line), "at_ns": 5})
    (folder / "samples.1.jsonl").write_text(old + "\n")
    async with asyncio.timeout(LIMIT_S):
        async with aclosing(follow_samples(agent, launched.folder)) as samples:
            first, second = await anext(samples), await anext(samples)
        async with aclosing(follow_samples(agent, launched.folder, since_ns=5)) as samples:
            later = await anext(samples)

    assert first.at_ns == 5
    assert second.at_ns == json.loads(line)["at_ns"]
    assert later == second


async def test_a_sample_knows_memory_and_the_ports_of_the_tree(
    agent: Agent, launch: Launcher
) -> None:
    code = (
        "import os, socket, time\n"
        "s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen()\n"
        "print(s.getsockname()[1], flush=True)\n"
        "x = bytearray(50_000_000)\n"
        "time.sleep(60)\n"
    )
    launched = await launch(sys.executable, "-c", code)
    async with (
        asyncio.timeout(LIMIT_S),
        aclosing(follow_samples(agent, launched.folder)) as samples,
    ):
        async for sample in samples:
            if sample.ports and sample.processes[0].rss_bytes > 50_000_000:
                break
    asked = await sample_tree(agent, launched.server.pid, log=launched.log)

    assert sample.ports == (int(await log_of(agent, launched)),)
    assert sample.processes[0].cpu_s >= 0
    assert asked.ports == sample.ports
    assert asked.log_size == sample.log_size
