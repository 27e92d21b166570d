"""Attaching to a run: over or not, one client or two, its log rotated, shared or older than it."""

import asyncio
import signal
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from workbench import LIMIT_S, RUNS, Site, last_of, recorded, story, until

from firedup.core.event import Sample, Token
from firedup.core.model import Snapshot, Stage, State, Verdict
from firedup.host.base import local_host
from firedup.host.link import open_agent
from firedup.session.log import read_log
from firedup.session.registry import find_run
from firedup.session.stop import stop_run
from firedup.store.event import EventReader
from firedup.testing.script import End, Http, Rotation, Script, line

CRASH = (RUNS / "sglang" / "f05_truncated_shard.log").read_bytes().splitlines(keepends=True)


def crashing(*, log: Path | None = None, rotate: str | None = None) -> Script:
    """A load that dies of a truncated shard, its log rotated before the traceback if asked."""
    pieces = tuple(replace(line(i * 0.003, ""), data=text) for i, text in enumerate(CRASH))
    cut = next(i for i, text in enumerate(CRASH) if b"Traceback" in text)
    rotations = (Rotation(cut * 0.003 - 0.001, rotate),) if rotate else ()
    end = End(len(CRASH) * 0.003, signal=signal.SIGKILL)
    return Script(pieces, end=end, log=str(log) if log else None, rotations=rotations)


async def test_an_attach_to_a_run_that_is_over_gives_the_same_result_at_once(site: Site) -> None:
    run = await site.launch(site.serve(site.fake(crashing())))
    first = await site.conclude(run)

    again = [snapshot async for snapshot in site.watch(await find_run(site.agent, run.label.id))]

    assert first.explanation.verdict is Verdict.CRASHED
    assert story(again[-1].explanation) == story(first.explanation)
    assert again[-1].state is State.EXITED
    assert len(again) <= 3  # no time passed: every snapshot was brought by an event


async def test_what_made_a_server_ready_without_a_word_is_known_to_later_clients(
    site: Site,
) -> None:
    program = site.fake(Script((line(0, "a warning"),), Http()))
    run = await site.launch(site.serve(program, "--log-level", "error"))
    await site.conclude(run)
    assert run.state.server is not None
    async with asyncio.TaskGroup() as group:
        group.create_task(last_of(site.watch(run, until="exit")))
        await asyncio.to_thread(lambda: None)
        await site.agent.call(
            "signal",
            pid=run.state.server.pid,
            start_ticks=run.state.server.start_ticks,
            signal="SIGKILL",
            to="main",
        )

    last = await site.conclude(await find_run(site.agent, run.label.id))

    assert last.explanation.verdict is Verdict.CRASHED
    assert last.explanation.cause is not None
    assert last.explanation.cause.stage is Stage.SERVING


async def test_two_clients_at_once_do_no_harm(site: Site) -> None:
    run = await site.launch(site.serve(site.fake(recorded("s05_tp2_eagle3.log"))))

    async with open_agent(local_host()) as other, asyncio.TaskGroup() as group:
        one = group.create_task(last_of(site.watch(run)))
        two = group.create_task(last_of(site.watch(run, other)))
    await stop_run(site.agent, site.catalogue, run, say=lambda text: None)
    third = await site.conclude(await find_run(site.agent, run.label.id))

    assert one.result().explanation.verdict is Verdict.READY
    assert story(one.result().explanation) == story(two.result().explanation)
    assert third.explanation.verdict is Verdict.STOPPED
    assert third.explanation.notes == ()


async def test_a_torn_last_line_costs_no_event_that_comes_later(site: Site) -> None:
    run = await site.launch(site.serve(site.fake(recorded("s01_success.log"))))
    await site.conclude(run)
    events = Path(run.folder) / "events.jsonl"
    with events.open("ab") as file:
        file.write(b'{"event":"token","at_ns":12')

    last = await site.conclude(run)

    reader = EventReader()
    reader.feed(events.read_bytes())
    reader.close()
    assert last.explanation.verdict is Verdict.READY
    assert (reader.damaged, reader.is_torn) == (1, False)


@pytest.mark.parametrize("mode", ["rename", "truncate"])
async def test_a_log_rotated_under_a_client_changes_no_diagnosis(
    site: Site, tmp_path: Path, mode: str
) -> None:
    log = tmp_path / "logs" / "server.log"
    plain = await site.launch(site.serve(site.fake(crashing())))
    expected = await site.conclude(plain)
    script = crashing(log=log, rotate=mode)

    run = await site.launch(site.serve(site.fake(script)), log=str(log))
    last = await site.conclude(run)

    assert [cause_of(last), last.explanation.stage] == [
        cause_of(expected),
        expected.explanation.stage,
    ]
    assert any("generation 1 follows" in note for note in last.explanation.notes)
    assert not any("destroyed" in note for note in last.explanation.notes)


@pytest.mark.parametrize("mode", ["rename", "truncate"])
@pytest.mark.parametrize("is_attended", [True, False])
async def test_what_a_rotator_moved_or_copied_is_there_for_a_client_who_comes_later(
    site: Site, tmp_path: Path, mode: str, is_attended: bool
) -> None:
    log = tmp_path / "logs" / "server.log"
    run = await site.launch(site.serve(site.fake(crashing(log=log, rotate=mode))), log=str(log))
    if is_attended:
        await site.conclude(run)
    else:
        await wait_exit(site, run.label.id)

    last = await site.conclude(await find_run(site.agent, run.label.id))

    assert last.explanation.verdict is Verdict.CRASHED
    assert "SafetensorError" in (cause_of(last) or "")
    if is_attended:
        assert not any("destroyed" in note for note in last.explanation.notes)


async def wait_exit(site: Site, run_id: str) -> None:
    from firedup.host.run import watch_run

    async for _ in watch_run(site.agent, run_id):
        pass


def cause_of(snapshot: Snapshot) -> str | None:
    cause = snapshot.explanation.cause
    return cause.line if cause else None


async def test_a_log_that_was_there_before_is_read_from_the_run_s_own_beginning(
    site: Site, tmp_path: Path
) -> None:
    log = tmp_path / "server.log"
    before = b"ValueError: of yesterday\nThe server is fired up and ready to roll!\nand a half"
    log.write_bytes(before)
    run = await site.launch(site.serve(site.fake(crashing())), log=str(log))

    live = await site.conclude(run)
    later = await site.conclude(await find_run(site.agent, run.label.id))

    assert log.read_bytes() == before + b"".join(CRASH)
    for last in (live, later):
        assert last.explanation.verdict is Verdict.CRASHED
        assert last.explanation.cause is not None
        number, offset = last.explanation.cause.line_number, last.explanation.cause.offset
        assert number is not None
        assert offset is not None
        assert log.read_bytes()[offset:].startswith(last.explanation.cause.line.encode())
        assert log.read_bytes()[:offset].count(b"\n") + 1 == number


async def test_a_run_does_not_read_what_a_later_run_wrote_into_the_same_log(
    site: Site, tmp_path: Path
) -> None:
    log = tmp_path / "server.log"
    first = await site.launch(site.serve(site.fake(crashing())), log=str(log))
    crashed = await site.conclude(first)
    second = await site.launch(site.serve(site.fake(recorded("s01_success.log"))), log=str(log))
    ready = await site.conclude(second)

    again = await site.conclude(await find_run(site.agent, first.label.id))

    assert ready.explanation.verdict is Verdict.READY
    assert story(again.explanation) == story(crashed.explanation)


async def test_logs_of_a_run_hold_what_it_wrote_and_nothing_of_its_neighbours(
    site: Site, tmp_path: Path
) -> None:
    log = tmp_path / "server.log"
    log.write_bytes(b"of yesterday\n")
    first = await site.launch(site.serve(site.fake(crashing())), log=str(log))
    await site.conclude(first)
    second = await site.launch(site.serve(site.fake(recorded("s01_success.log"))), log=str(log))
    await site.conclude(second)
    first = await find_run(site.agent, first.label.id)

    everything = b"".join([data async for data in read_log(site.agent, first)])
    tail = b"".join([data async for data in read_log(site.agent, first, last_lines=2)])
    async with asyncio.timeout(LIMIT_S):
        followed = b"".join([data async for data in read_log(site.agent, first, follow=True)])

    assert everything == b"".join(CRASH)
    assert tail == b"".join(CRASH[-2:])
    assert followed == everything


async def test_samples_of_the_keeper_are_not_recorded_again(site: Site) -> None:
    run = await site.launch(site.serve(site.fake(recorded("s01_success.log"))))
    snapshots: Any = site.watch(run, until="exit")
    await until(snapshots, lambda now: now.checks.token and now.processes)
    await snapshots.aclose()

    reader = EventReader()
    events = reader.feed((Path(run.folder) / "events.jsonl").read_bytes())

    assert (Path(run.folder) / "samples.jsonl").stat().st_size > 0
    assert [event for event in events if isinstance(event, Token)]
    assert not [event for event in events if isinstance(event, Sample)]


async def test_a_client_that_is_told_to_end_leaves_the_server_running(site: Site) -> None:
    run = await site.launch(site.serve(site.fake(recorded("s01_success.log"))))
    task = asyncio.ensure_future(last_of(site.watch(run, until="exit")))
    await until(site.watch(run), lambda now: now.explanation.verdict is Verdict.READY)

    task.cancel()
    with suppress(asyncio.CancelledError):
        await task

    assert task.cancelled()
    assert (await find_run(site.agent, run.label.id)).is_alive
