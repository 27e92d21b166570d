"""A stop follows its engine's table, may be repeated, and sweeps its own run alone."""

import asyncio
import os
import re
import signal
import socket
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from port import free_port
from workbench import LIMIT_S, RUNS, Site, recorded, until

from firedup.core.difference import Change, describe_changes
from firedup.core.error import RefusedError, UsageError
from firedup.core.event import LogData
from firedup.core.model import Snapshot, Stage, Verdict
from firedup.host.file import follow_log
from firedup.host.link import Agent
from firedup.profile.schema import StopRow
from firedup.session import stop as stop_module
from firedup.session.prune import prune_runs
from firedup.session.registry import Run, find_run, list_runs
from firedup.session.restart import change_command, restart_run
from firedup.session.stop import StuckError, stop_run
from firedup.testing.script import End, Http, Script, Stop, line


def lives(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


async def start(site: Site, script: Script, *flags: str, name: str = "sglang") -> Run:
    """A run whose log has begun, as the run it is now."""
    run = await site.launch(site.serve(site.fake(script, name), *flags))
    await until(site.watch(run, until="exit"), lambda now: now.log_size and now.processes)
    return await find_run(site.agent, run.label.id)


async def test_a_server_that_heeds_the_first_signal_gets_no_other(site: Site) -> None:
    run = await start(site, Script((line(0, "loading"),), stop=Stop((line(0, "bye"),), code=7)))
    said: list[str] = []

    exited = await stop_run(site.agent, site.catalogue, run, say=said.append)

    assert exited is not None
    assert (exited.code, exited.signal) == (7, None)
    assert [text.split()[0] for text in said] == ["SIGTERM"]
    assert f"pid {run.state.server.pid if run.state.server else None}" in said[0]
    assert Path(run.log).read_text() == "loading\nbye\n"


async def test_a_server_that_ignores_the_first_signal_gets_the_table_s_next(site: Site) -> None:
    run = await start(site, Script((line(0, "loading"),), stop=Stop(is_ignored=True)))
    said: list[str] = []

    exited = await stop_run(site.agent, site.catalogue, run, say=said.append, grace_s=0.2)

    assert exited is not None
    assert exited.signal == signal.SIGKILL
    assert [text.split(",")[0] for text in said] == [
        f"SIGTERM to pid {exited.pid}",
        "SIGKILL to the server's group",
    ]


def loading(engine: str, name: str, last: bytes) -> Script:
    """A recorded start that has come as far as the first line with `last`, and stays there."""
    lines = (RUNS / engine / name).read_bytes().splitlines(keepends=True)
    end = next(number for number, text in enumerate(lines) if last in text)
    return Script(tuple(replace(line(0, ""), data=text) for text in lines[: end + 1]))


SGLANG = ("sglang", "s01_success.log")
VLLM = ("vllm", "a_base.log")


@pytest.mark.parametrize(
    ("log", "last", "first"),
    [
        (SGLANG, b"Load weight begin", "SIGTERM to pid N, waiting up to 10 s"),
        (SGLANG, b"fired up", "SIGTERM to pid N, waiting up to 30 s"),
        (VLLM, b"Starting to load model", "SIGINT to pid N, waiting up to 20 s"),
        (VLLM, b"Application startup complete", "SIGTERM to pid N, waiting up to 15 s"),
    ],
)
@pytest.mark.parametrize("is_attended", [True, False])
async def test_a_stop_takes_the_row_of_the_stage_that_the_log_has_reached(
    site: Site, log: tuple[str, str], last: bytes, first: str, is_attended: bool
) -> None:
    script = loading(*log, last)
    run = await site.launch(site.serve(site.fake(script, log[0])))
    size = sum(len(piece.data) for piece in script.pieces)
    if is_attended:
        await leave(site, run, lambda now: now.log_size == size)
    else:
        await grown(site, run, size)
    said: list[str] = []

    await stop_run(site.agent, site.catalogue, run, say=said.append)

    assert re.sub(r"pid \d+", "pid N", said[0]) == first


async def leave(site: Site, run: Run, holds: Callable[[Snapshot], object]) -> None:
    """Watch until it `holds`, then go as after Ctrl-C."""
    snapshots: Any = site.watch(run, until="exit")
    await until(snapshots, holds)
    await snapshots.aclose()


async def grown(site: Site, run: Run, size: int) -> None:
    """Until the log has so many bytes."""
    async with asyncio.timeout(LIMIT_S):
        with closing(follow_log(site.agent, run.log)) as reader:
            async for event in reader:
                if isinstance(event, LogData) and event.offset + len(event.data) >= size:
                    return


async def test_what_a_client_saw_who_left_early_is_not_the_stage_for_ever(site: Site) -> None:
    script = loading(*SGLANG, b"fired up")
    begin = next(n for n, p in enumerate(script.pieces) if b"Load weight begin" in p.data)
    late = tuple(
        replace(piece, at_s=0.0 if number <= begin else 1.5)
        for number, piece in enumerate(script.pieces)
    )
    run = await site.launch(site.serve(site.fake(replace(script, pieces=late))))
    await leave(site, run, lambda now: now.explanation.stage is Stage.LOAD_WEIGHTS)
    await grown(site, run, sum(len(piece.data) for piece in late))
    said: list[str] = []

    await stop_run(site.agent, site.catalogue, run, say=said.append)

    assert "waiting up to 30 s" in said[0]


async def test_a_server_that_heeds_no_signal_is_no_ended_one_and_nothing_starts_beside_it(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def send_in_vain(*_: object, **__: object) -> tuple[int, ...]:
        return ()

    run = await start(site, Script((line(0, "loading"),)))
    assert run.state.server is not None
    monkeypatch.setattr("firedup.session.stop.send_signal", send_in_vain)
    monkeypatch.setattr("firedup.session.stop.SWEEP_WAIT_S", 0.1)
    steps = (StopRow("KILL", to="group", grace_s=0.1),)
    monkeypatch.setattr("firedup.session.stop.stop_steps", lambda *_: steps)

    with pytest.raises(StuckError, match=f"pid {run.state.server.pid} heeds no signal") as stuck:
        await stop_run(site.agent, site.catalogue, run, say=lambda text: None)
    with pytest.raises(StuckError):
        await restart_run(site.agent, site.catalogue, run, (), say=lambda text: None)

    assert "(state S)" in stuck.value.what
    assert stuck.value.exit_status == 1
    assert [found.label.id for found in await list_runs(site.agent)] == [run.label.id]


async def test_a_process_that_outlives_the_sweep_is_named(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = Script((line(0, "loading"),), children=("worker",), do_children_survive=True)
    run = await start(site, script)
    assert run.state.server is not None
    orphan = psutil.Process(run.state.server.pid).children()[0].pid
    send = stop_module.send_signal

    async def spare_orphan(agent: Agent, pid: int, *given: Any, **named: Any) -> tuple[int, ...]:
        return () if pid == orphan else await send(agent, pid, *given, **named)

    monkeypatch.setattr(stop_module, "send_signal", spare_orphan)
    monkeypatch.setattr(stop_module, "SWEEP_WAIT_S", 0.1)

    with pytest.raises(StuckError, match=f"pid {orphan} heeds no signal"):
        await stop_run(site.agent, site.catalogue, run, say=lambda text: None)


async def test_a_stop_of_a_run_that_is_over_says_so_and_gives_the_same_end(site: Site) -> None:
    run = await start(site, Script((line(0, "loading"),), stop=Stop(code=7)))
    first = await stop_run(site.agent, site.catalogue, run, say=lambda text: None)
    said: list[str] = []

    again = await find_run(site.agent, run.label.id)
    second = await stop_run(site.agent, site.catalogue, again, say=said.append)

    assert second == first
    assert said == [f"{run.label.name} ({run.label.id}) has ended already"]
    assert (await site.conclude(again)).explanation.verdict is Verdict.STOPPED


async def test_what_a_run_left_behind_is_swept_and_nobody_else(site: Site) -> None:
    families = {
        name: Script((line(0, "loading"),), children=("worker",), do_children_survive=True)
        for name in ("sglang", "vllm")
    }
    mine = await start(site, families["sglang"])
    site.port = free_port()
    other = await start(site, families["vllm"], name="vllm")
    assert mine.state.server is not None
    assert other.state.server is not None
    orphan = psutil.Process(mine.state.server.pid).children()[0].pid
    stranger = psutil.Process(other.state.server.pid).children()[0].pid

    await stop_run(site.agent, site.catalogue, mine, say=lambda text: None)

    assert not lives(mine.state.server.pid)
    assert not lives(orphan)
    assert lives(stranger)
    assert lives(other.state.server.pid)


ARGV = ("python", "-m", "x", "--tp", "8", "--mem=0.8", "--trust", "--names", "a", "b")


@pytest.mark.parametrize(
    ("changed", "argv"),
    [
        ((), ARGV),
        (("--tp", "4"), (*ARGV[:4], "4", *ARGV[5:])),
        (("--mem=0.9",), (*ARGV[:5], "--mem=0.9", *ARGV[6:])),
        (("--names", "c"), (*ARGV[:8], "c")),
        (("--new", "1"), (*ARGV, "--new", "1")),
        (("--no=--trust",), (*ARGV[:6], *ARGV[7:])),
        (("--no=--names",), ARGV[:7]),
        (("--bias", "-1.5"), (*ARGV, "--bias", "-1.5")),
    ],
)
def test_changed_flags_take_the_place_of_their_namesakes(
    changed: tuple[str, ...], argv: tuple[str, ...]
) -> None:
    assert change_command({}, ARGV, changed) == ({}, argv)


def test_words_of_environment_change_the_environment_alone() -> None:
    env, argv = change_command({"A": "1", "B": "2"}, ARGV, ("A=3", "C=4", "--tp", "4"))

    assert env == {"A": "3", "B": "2", "C": "4"}
    assert argv == (*ARGV[:4], "4", *ARGV[5:])


@pytest.mark.parametrize("changed", [("tp", "4"), ("--no=--none",)])
def test_a_change_that_is_none_is_a_user_s_mistake(changed: tuple[str, ...]) -> None:
    with pytest.raises(UsageError):
        change_command({}, ARGV, changed)


def test_the_difference_names_what_changed_and_nothing_else() -> None:
    env, argv = change_command({"A": "1"}, ARGV, ("B=2", "--tp", "4", "--no=--trust", "--x", "y"))

    assert describe_changes({"A": "1"}, ARGV, env, argv) == (
        Change("--tp", "8", "4"),
        Change("--trust", "", None),
        Change("--x", None, "y"),
        Change("B", None, "2"),
    )


async def test_a_restart_is_the_same_command_with_the_changes_on_the_same_port(
    site: Site, tmp_path: Path
) -> None:
    log = tmp_path / "server.log"
    argv = site.serve(site.fake(recorded("s01_success.log")), "--tp", "8")
    first = await site.launch(argv, name="daily", env=(("A", "1"),), log=str(log))
    await site.conclude(first)

    second, difference = await restart_run(
        site.agent, site.catalogue, first, ("A=2", "--tp", "4"), say=lambda text: None
    )
    last = await site.conclude(second)

    assert difference == (Change("--tp", "8", "4"), Change("A", "1", "2"))
    assert last.explanation.verdict is Verdict.READY
    assert second.manifest.argv == (*argv[:-1], "4")
    assert dict(second.manifest.env) == {"A": "2"}
    assert (second.label.name, second.manifest.restarted_from) == ("daily", first.label.id)
    assert (second.log, second.state.log_start > 0) == (str(log), True)
    assert not (await find_run(site.agent, first.label.id)).is_alive
    assert (await find_run(site.agent, "daily")).label.id == second.label.id
    assert (await find_run(site.agent, "daily~1")).label.id == first.label.id


async def test_a_restart_onto_a_strangers_port_is_refused_and_the_server_lives_on(
    site: Site,
) -> None:
    run = await start(site, Script((line(0, "loading"),), Http(open_s=3600)))
    said: list[str] = []

    with socket.create_server(("127.0.0.1", site.port)), pytest.raises(RefusedError) as refusal:
        await restart_run(site.agent, site.catalogue, run, (), say=said.append)

    assert said == []
    assert (await find_run(site.agent, run.label.id)).is_alive
    assert f"belongs to pid {os.getpid()}" in str(refusal.value.evidence)


async def test_runs_of_the_same_second_are_told_apart_by_their_launch(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = iter(["20261129-100000-same-ffff", "20261129-100000-same-0000"])
    monkeypatch.setattr("firedup.session.launch.new_run_id", lambda *_: next(ids))
    quick = site.serve(site.fake(Script((line(0, "loading"),), end=End(0.0))))

    launched = [(await site.launch(quick, name="same")).label.id for _ in range(2)]

    assert [run.label.id for run in await list_runs(site.agent)] == launched[::-1]
    assert (await find_run(site.agent, "same")).label.id == launched[1]


async def test_prune_removes_what_is_over_and_never_a_living_run(site: Site) -> None:
    over = await start(site, Script((line(0, "loading"),)))
    await stop_run(site.agent, site.catalogue, over, say=lambda text: None)
    site.port = free_port()
    living = await start(site, Script((line(0, "loading"),)))
    assert living.state.keeper is not None
    os.kill(living.state.keeper.pid, signal.SIGKILL)

    runs = await list_runs(site.agent)
    spared = await prune_runs(site.agent, runs, keep=0, older_than_s=3600)
    shown = await prune_runs(site.agent, runs, keep=0, dry_run=True)
    pruned = await prune_runs(site.agent, await list_runs(site.agent), keep=0)

    assert spared == ()
    assert [run.label.id for run in shown] == [over.label.id]
    assert [run.label.id for run in pruned] == [over.label.id]
    assert not Path(over.folder).exists()
    assert [run.label.id for run in await list_runs(site.agent)] == [living.label.id]
