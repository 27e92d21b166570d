"""A stop follows the engine's table, ends for certain, and sweeps what is left behind."""

import asyncio
import signal
import sys
from pathlib import Path

from workbench import LIMIT_S, Site

from firedup.core.model import Stage
from firedup.host.process import find_members
from firedup.session.launch import launch
from firedup.session.order import Order
from firedup.session.run import Run, find_run
from firedup.session.stop import stop_run

STUBBORN = (
    "import signal, sys, time\n"
    "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    "open(sys.argv[1], 'w').close()\n"
    "time.sleep(600)\n"
)


async def start(site: Site, *argv: str) -> Run:
    return await launch(site.agent, site.catalogue, Order(argv, name="s"))


async def exists(path: Path) -> None:
    async with asyncio.timeout(LIMIT_S):
        while not path.exists():
            await asyncio.sleep(0.01)


async def test_a_server_that_ignores_the_polite_signal_is_killed_in_the_end(
    site: Site, tmp_path: Path
) -> None:
    run = await start(site, sys.executable, "-c", STUBBORN, str(tmp_path / "deaf"))
    await exists(tmp_path / "deaf")
    said: list[str] = []

    end = await stop_run(site.agent, site.catalogue, run, say=said.append, grace_s=0.2)

    assert end is not None
    assert end.signal == signal.SIGKILL
    assert [text.split()[0] for text in said] == ["SIGTERM", "SIGKILL"]


async def test_a_second_stop_does_no_harm(site: Site) -> None:
    run = await start(site, "sleep", "600")
    first = await stop_run(site.agent, site.catalogue, run, say=lambda _: None)
    said: list[str] = []

    again = await find_run(site.agent, "s")
    second = await stop_run(site.agent, site.catalogue, again, say=said.append)

    assert first == second
    assert said == [f"s ({run.label.id}) has ended already"]


async def test_the_stage_chooses_the_signal(site: Site) -> None:
    program = site.program("import time; time.sleep(600)", name="vllm")
    run = await start(site, program, "serve", "m", "--port", str(site.port))
    said: list[str] = []

    await stop_run(site.agent, site.catalogue, run, say=said.append, stage=Stage.LOAD_WEIGHTS)

    assert said[0].startswith("SIGINT to pid")  # vLLM ignores SIGTERM while it loads


async def test_what_the_server_left_behind_is_swept_and_nothing_else(site: Site) -> None:
    other = await start(site, "sleep", "600")
    run = await start(site, "sh", "-c", "setsid env -i sleep 601 & setsid sleep 602 & sleep 600")
    keeper = run.state.keeper
    assert keeper is not None
    family = (keeper.pid, keeper.start_ticks)
    async with asyncio.timeout(LIMIT_S):
        while len(await find_members(site.agent, run.label.id, None, family)) < 4:
            await asyncio.sleep(0.01)
    said: list[str] = []

    await stop_run(site.agent, site.catalogue, run, say=said.append)

    assert await find_members(site.agent, run.label.id, None, family) == ()
    assert len([text for text in said if text.startswith("sweeping")]) >= 2
    assert (await find_run(site.agent, other.label.id)).is_alive
