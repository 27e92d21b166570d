"""Hooks of real launches, with the recipe of the real catalogue, and nobody who watches."""

import asyncio
import json
from pathlib import Path
from typing import cast

import msgspec
import pytest
from workbench import RUNS, Knowledge, Site, recorded

from firedup.core.model import ServerSpec, Verdict
from firedup.host.agent.scan import Signs
from firedup.host.link import Agent
from firedup.host.process import wait_gone
from firedup.probe.target import make_target
from firedup.session.recipe import make_recipe
from firedup.session.registry import Run
from firedup.session.restart import restart_run
from firedup.session.stop import stop_run

LIMIT_S = 40.0


def hooks(*events: str) -> tuple[tuple[str, str], ...]:
    """Each event writes who told of it into hooks.log, in a line of its own."""
    command = 'echo "$FIREDUP_EVENT $FIREDUP_VERDICT [$FIREDUP_CAUSE]"'
    return tuple((event, command) for event in events)


async def said(run: Run, count: int) -> list[str]:
    """The first `count` lines of hooks.log, once they are there."""
    path = Path(run.folder, "hooks.log")
    async with asyncio.timeout(LIMIT_S):
        while not path.exists() or len(lines := path.read_text().splitlines()) < count:
            await asyncio.sleep(0.02)
    return lines


def claim(run: Run, event: str) -> dict[str, object]:
    """What was told of `event`."""
    return dict(json.loads(Path(run.folder, f"hook-{event}.json").read_text()))


async def done(site: Site, run: Run) -> None:
    keeper = run.state.keeper
    assert keeper is not None
    await wait_gone(site.agent, keeper.pid, keeper.start_ticks, timeout_s=LIMIT_S)


async def test_a_recorded_server_with_a_key_is_told_ready_without_a_client(site: Site) -> None:
    program = site.fake(recorded("s01_success.log", api_key="planted-key"))
    command = site.serve(program, "--api-key", "planted-key")

    run = await site.launch(command, hooks=hooks("ready", "crashed", "exited"))

    assert await said(run, 1) == ["ready ready []"]
    told = claim(run, "ready")
    assert (told["source"], told["engine"], told["port"]) == ("keeper", "sglang", site.port)
    assert told["model"] == "org/model"
    await stop_run(site.agent, site.catalogue, run, say=str)
    assert (await said(run, 2))[1] == "exited stopped []"
    await done(site, run)
    assert len(await said(run, 2)) == 2


async def test_with_a_client_each_event_is_told_once_and_with_its_cause(site: Site) -> None:
    body = """
        import os, sys, time
        from firedup.host.agent.hook import is_attended

        runs = os.path.join(os.environ["XDG_STATE_HOME"], "firedup/runs")
        while not is_attended(os.path.join(runs, os.environ["FIREDUP_RUN"])):
            time.sleep(0.01)
        print("torch.OutOfMemoryError: CUDA out of memory.")
        sys.exit(1)
    """
    program = site.program(body)

    run = await site.launch(site.serve(program), hooks=hooks("crashed", "exited"))
    last = await site.conclude(run)
    await done(site, run)

    assert last.explanation.verdict is Verdict.CRASHED
    cause = last.explanation.cause
    assert cause is not None
    assert sorted(await said(run, 2)) == [
        f"crashed crashed [{cause.failure}]",
        f"exited crashed [{cause.failure}]",
    ]


async def test_a_client_that_watches_to_ready_and_goes_leaves_the_rest_to_the_keeper(
    site: Site,
) -> None:
    program = site.fake(recorded("s01_success.log"))
    run = await site.launch(site.serve(program), hooks=hooks("ready", "crashed", "exited"))
    await site.conclude(run)
    server = run.state.server
    assert server is not None

    await site.agent.call(
        "signal", pid=server.pid, start_ticks=server.start_ticks, signal="SIGKILL", to="main"
    )

    assert sorted(await said(run, 3)) == [
        "crashed crashed [killed]",
        "exited crashed [killed]",
        "ready ready []",
    ]
    assert claim(run, "exited")["source"] == "keeper"
    served_s = claim(run, "exited")["served_s"]
    assert isinstance(served_s, float)


async def test_a_restart_keeps_the_hooks_and_reads_the_files_of_variables_anew(
    site: Site, tmp_path: Path
) -> None:
    env = tmp_path / "server.env"
    env.write_text("COLOUR=red\n")
    show = ("sh", "-c", "echo $COLOUR; sleep 600")
    first = await site.launch(show, env_files=(str(env),), hooks=hooks("exited"), name="r")
    env.write_text("COLOUR=blue\n")

    second, _ = await restart_run(site.agent, site.catalogue, first, (), say=str)

    assert second.manifest.env_files == (str(env),)
    assert second.manifest.hooks == first.manifest.hooks
    async with asyncio.timeout(LIMIT_S):
        while not Path(second.log).read_text():
            await asyncio.sleep(0.02)
    assert (Path(first.log).read_text(), Path(second.log).read_text()) == ("red\n", "blue\n")
    assert await said(first, 1) == ["exited stopped []"]


@pytest.mark.parametrize(
    ("engine", "log"),
    [
        ("sglang", "sglang/s01_success.log"),
        ("vllm", "vllm/a_base.log"),
        ("llama-cpp", "llama-cpp/bench-final-base.log"),
    ],
)
def test_the_recipe_of_an_engine_finds_the_ready_line_of_its_recorded_log(
    knowledge: Knowledge, engine: str, log: str
) -> None:
    profile = knowledge.catalogue.profile(engine)
    target = make_target(cast("Agent", None), ServerSpec(engine=engine, port=1), profile)

    recipe = make_recipe(target, knowledge.catalogue.rules_for(engine))

    signs = Signs(msgspec.to_builtins(recipe.ready))
    text = (RUNS / log).read_bytes()
    assert signs.find(text)
    assert not signs.find(b"".join(text.splitlines(keepends=True)[:5]))
    assert recipe.token
