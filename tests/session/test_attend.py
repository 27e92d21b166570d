"""A log whose server somebody else started: its process is found and judged all the same."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from earlier import leave_run, took
from workbench import LIMIT_S, RUNS, Site, last_of, recorded, until

from firedup.core.error import UsageError
from firedup.core.event import Sample
from firedup.core.log.block import OPENERS
from firedup.core.model import Ownership, Snapshot, State, Verdict
from firedup.core.rule import Matcher
from firedup.host.link import Agent
from firedup.profile.command import read_command
from firedup.profile.match import CatalogueMatcher
from firedup.profile.words import pattern_rules
from firedup.session import attend
from firedup.session.attend import watch_log
from firedup.session.find import Found
from firedup.session.sample import feed_samples
from firedup.session.status import exit_status
from firedup.session.watch import Watching
from firedup.testing.script import End, Script, Stop, line

Watch = Callable[..., AsyncIterator[Snapshot]]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "logs" / "server.log"


@pytest.fixture
def watch(site: Site, log: Path) -> Watch:
    def begin(
        *, pid: int | None = None, matcher: Matcher | None = None, **how: Any
    ) -> AsyncIterator[Snapshot]:
        watching = Watching(**{"timeout_s": 600, **how})
        matcher = matcher or site.matcher
        snapshots = watch_log(site.agent, site.catalogue, matcher, str(log), watching, pid=pid)
        site.watches.append(snapshots)
        return snapshots

    return begin


Start = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def start(log: Path) -> Iterator[Start]:
    """Start a server from a shell, with its output in the log."""
    log.parent.mkdir()
    started = []

    def begin(*argv: str, shell: str = 'exec "$@" >>"$LOG" 2>&1') -> subprocess.Popen[bytes]:
        env = {**os.environ, "LOG": str(log)}
        process = subprocess.Popen(["bash", "-c", shell, "bash", *argv], env=env)
        started.append(process)
        return process

    yield begin
    for process in started:
        if process.returncode is None:
            for child in [*psutil.Process(process.pid).children(recursive=True), process]:
                with contextlib.suppress(psutil.Error):
                    child.kill()
            process.wait()


async def test_the_process_that_writes_the_log_is_found_and_asked(
    site: Site, start: Start, watch: Watch
) -> None:
    process = start(*site.serve(site.fake(recorded("s01_success.log"))))

    last = await last_of(watch())

    assert last.explanation.verdict is Verdict.READY
    assert last.checks.owner is Ownership.YES
    assert last.first_text == " brown"
    assert process.pid in {found.pid for found in last.processes}
    assert (last.spec.engine, last.spec.port) == ("sglang", site.port)


async def test_how_long_a_start_still_takes_is_told_by_earlier_ones_on_the_host(
    site: Site, start: Start, watch: Watch
) -> None:
    slow = Script((line(0, "Load weight begin. avail mem=10 GB"),), end=End(600))
    argv = site.serve(site.fake(slow))
    for number in range(5):
        spec = read_command(argv, {}, site.catalogue)
        leave_run(number, argv=argv, spec=spec, **took(500.0, 900.0 + number))
    start(*argv)

    seen = await until(watch(), lambda now: now.eta)

    assert seen.eta is not None
    assert seen.eta.ready is not None
    assert seen.eta.ready.starts == 5
    assert seen.eta.ready.expected_s is not None
    assert 800 < seen.eta.ready.expected_s < 905


async def test_the_server_behind_a_tee_is_found(site: Site, start: Start, watch: Watch) -> None:
    argv = site.serve(site.fake(recorded("s01_success.log")))
    start(*argv, shell='"$@" 2>&1 | tee -a "$LOG" >/dev/null')

    last = await last_of(watch())

    assert last.explanation.verdict is Verdict.READY
    assert last.checks.owner is Ownership.YES
    assert last.spec.port == site.port


async def test_a_pid_chooses_the_server(site: Site, start: Start, log: Path, watch: Watch) -> None:
    # Nobody holds the log open: the server's words come to it by another way.
    process = start(*site.serve(site.fake(recorded("s01_success.log"))), shell='exec "$@"')
    log.write_text("The server is fired up and ready to roll!\n")

    last = await last_of(watch(pid=process.pid))

    assert last.explanation.verdict is Verdict.READY
    assert last.checks.token is True


async def test_a_pid_that_is_none_is_a_user_s_mistake(watch: Watch) -> None:
    with pytest.raises(UsageError, match="there is no process 999999999"):
        await last_of(watch(pid=999999999))


async def test_a_log_that_is_not_there_yet_is_waited_for_and_that_is_said(
    site: Site, start: Start, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("firedup.session.attend.SEARCH_PAUSE_S", 0.1)
    snapshots = watch()
    before = await until(snapshots, lambda now: now.waiting_for == "the log to appear")
    start(*site.serve(site.fake(recorded("s01_success.log"))))

    last = await last_of(snapshots)

    assert before.state is State.WAITING
    assert last.explanation.verdict is Verdict.READY
    assert last.checks.owner is Ownership.YES


async def test_a_directory_is_no_log(log: Path, watch: Watch) -> None:
    log.mkdir(parents=True)

    with pytest.raises(UsageError, match="is a directory"):
        await last_of(watch())


READY_LINE = "The server is fired up and ready to roll!\n"


def age(log: Path, seconds: float) -> None:
    when = time.time() - seconds
    os.utime(log, (when, when))


@pytest.mark.parametrize("words", ["loading\n", READY_LINE])
async def test_a_stale_log_is_said_at_once(log: Path, watch: Watch, words: str) -> None:
    log.parent.mkdir()
    log.write_text(words)
    age(log, 7200)

    seen = [snapshot async for snapshot in watch()]

    assert len(seen) == 1
    assert seen[0].is_final
    assert "stale log: no process has it open, last written 2 hours ago" in (
        seen[0].explanation.notes
    )
    assert seen[0].explanation.verdict is Verdict.UNKNOWN
    assert exit_status(seen[0]) == 6


async def test_a_stale_log_that_tells_of_a_crash_tells_of_it(log: Path, watch: Watch) -> None:
    log.parent.mkdir()
    log.write_bytes((RUNS / "sglang" / "f05_truncated_shard.log").read_bytes())
    age(log, 7200)

    seen = [snapshot async for snapshot in watch()]

    assert [found.explanation.verdict for found in seen] == [Verdict.CRASHED]
    assert exit_status(seen[0]) == 1


async def test_a_log_written_just_now_and_held_by_nobody_is_no_ready_server(
    log: Path, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("firedup.session.attend.GRACE_S", 0.3)
    log.parent.mkdir()
    log.write_text(READY_LINE)

    seen = [snapshot async for snapshot in watch()]

    assert {found.explanation.verdict for found in seen} == {Verdict.UNKNOWN}
    assert seen[-1].is_final
    assert "abandoned log: no process has it open" in seen[-1].explanation.notes[-1]
    assert exit_status(seen[-1]) == 6


async def test_a_log_that_is_left_is_never_fetched_as_a_whole(
    log: Path, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("firedup.session.attend.GRACE_S", 0.3)
    fetched: list[str] = []
    fetch = Agent.fetch

    async def note(agent: Agent, op: str, **args: Any) -> tuple[dict[str, Any], bytes]:
        if op == "read" and args.get("length") is None:
            fetched.append(args["path"])
        return await fetch(agent, op, **args)

    monkeypatch.setattr(Agent, "fetch", note)
    snapshots = watch()
    await until(snapshots, lambda now: now.waiting_for == "the log to appear")
    log.parent.mkdir()
    (log.parent / "new").write_text(READY_LINE * 10_000)
    (log.parent / "new").rename(log)
    last = await last_of(snapshots)

    assert last.explanation.verdict is Verdict.UNKNOWN
    assert last.log_size == len(READY_LINE) * 10_000
    assert fetched == []


async def test_a_log_that_comes_into_being_and_is_left_is_no_ready_server(
    log: Path, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("firedup.session.attend.GRACE_S", 0.3)
    snapshots = watch()
    await until(snapshots, lambda now: now.waiting_for == "the log to appear")
    log.parent.mkdir()
    (log.parent / "new").write_text(READY_LINE)
    (log.parent / "new").rename(log)

    last = await last_of(snapshots)

    assert last.explanation.verdict is Verdict.UNKNOWN
    assert last.checks.log is True
    assert "abandoned log" in last.explanation.notes[-1]


async def test_a_writer_that_appears_in_the_grace_is_watched(
    site: Site, start: Start, log: Path, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("firedup.session.attend.GRACE_S", 30.0)
    log.write_text(READY_LINE)
    async with asyncio.TaskGroup() as group:
        last = group.create_task(last_of(watch()))
        start(*site.serve(site.fake(recorded("s01_success.log"))))

    assert last.result().explanation.verdict is Verdict.READY
    assert last.result().checks.owner is Ownership.YES


async def test_what_an_earlier_start_left_in_the_log_is_not_the_new_one_s(
    site: Site, start: Start, log: Path, watch: Watch
) -> None:
    log.write_bytes((RUNS / "sglang" / "f05_truncated_shard.log").read_bytes())
    age(log, 600)
    # It has not said a word yet, so that nothing but its own start tells the two apart.
    start(*site.serve(site.fake(Script((line(3600, "loading"),)))))

    seen = await until(watch(), lambda now: now.processes)

    assert seen.explanation.verdict is Verdict.LOADING
    assert seen.explanation.stage is None
    assert seen.explanation.cause is None


async def test_samples_of_a_process_that_is_gone_just_end(site: Site, log: Path) -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    samples: list[Sample] = []

    await feed_samples(site.agent, samples.append, (process.pid, 1), str(log))

    assert samples == []


async def test_a_death_right_after_the_process_was_found_is_a_crash(
    site: Site, start: Start, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = start(*site.serve(site.fake(Script((line(0, "loading"),)))))
    find = attend.find_writer

    async def find_and_kill(*given: Any) -> Found:
        found = await find(*given)
        if found.process is not None:
            process.kill()
            process.wait()
        return found

    monkeypatch.setattr(attend, "find_writer", find_and_kill)

    last = await last_of(watch())

    assert last.explanation.verdict is Verdict.CRASHED
    assert last.explanation.exited is True


async def test_a_log_that_nobody_writes_any_more_becomes_stale(
    log: Path, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("firedup.session.attend.SEARCH_PAUSE_S", 0.1)
    monkeypatch.setattr("firedup.session.attend.STALE_S", 0.5)
    log.parent.mkdir()
    log.write_text("loading\n")

    last = await last_of(watch())

    assert last.is_final
    assert last.explanation.verdict is not Verdict.TIMED_OUT
    assert "no process has it open" in last.explanation.notes[-1]


async def test_a_process_that_vanishes_silently_before_ready_has_crashed(
    site: Site, start: Start, watch: Watch
) -> None:
    script = Script((line(0, "loading"),), end=End(3600), stop=Stop(is_ignored=True))
    process = start(*site.serve(site.fake(script)))
    snapshots = watch()
    await until(snapshots, lambda now: now.processes)

    process.kill()
    process.wait()
    last = await last_of(snapshots)

    assert last.explanation.verdict is Verdict.CRASHED
    assert last.explanation.exited is True
    assert last.explanation.cause is not None
    assert last.explanation.cause.failure == "silent-exit"
    assert f"pid {process.pid}" in last.explanation.cause.line
    assert exit_status(last) == 1


async def test_a_busy_process_with_a_quiet_log_is_said_to_buffer(
    site: Site, start: Start, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("firedup.core.verdict.conclusion.BUFFERED_S", 0.5)
    script = Script((line(0, "loading"),), work=((0.0, 3600.0),))
    start(*site.serve(site.fake(script)))

    snapshot = await until(watch(), lambda now: now.explanation.findings)

    assert snapshot.explanation.verdict is Verdict.LOADING
    assert snapshot.explanation.findings[0].id == "log-quiet-process-busy"


async def test_a_stopped_process_is_stalled(
    site: Site, start: Start, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("firedup.core.verdict.patience.STOPPED_PATIENCE_S", 0.5)
    process = start(*site.serve(site.fake(Script((line(0, "loading"),)))))
    snapshots = watch()
    await until(snapshots, lambda now: now.processes)

    process.send_signal(signal.SIGSTOP)
    last = await last_of(snapshots)

    assert last.explanation.verdict is Verdict.STALLED
    assert last.explanation.findings[0].id == "no-progress"
    assert "stopped by a signal" in last.explanation.findings[0].evidence[0].text
    assert exit_status(last) == 4


async def test_when_the_time_is_over_the_server_is_asked_once_more(
    site: Site, start: Start, watch: Watch
) -> None:
    # It listens and is healthy, and its log never says that it is up: only a look can tell.
    script = recorded("s01_success.log")
    mute = replace(script, pieces=(line(0, "loading"),))
    start(*site.serve(site.fake(mute)))
    await _until_open(site.port)

    last = await last_of(watch(timeout_s=1.0, tick_s=0.2))

    assert last.checks.health == 200
    assert last.checks.log is False
    assert last.explanation.verdict is Verdict.READY


async def test_what_was_seen_is_told_when_the_time_is_over(
    site: Site, start: Start, watch: Watch
) -> None:
    script = recorded("s01_success.log")
    start(*site.serve(site.fake(replace(script, pieces=script.pieces[:20], http=None))))
    await until(watch(until="exit"), lambda now: now.explanation.stage)  # it has begun

    last = await last_of(watch(timeout_s=1.0))

    assert last.explanation.verdict is Verdict.TIMED_OUT
    assert last.explanation.stage is not None
    assert last.last_line is not None
    assert last.waiting_for
    assert exit_status(last) == 5


@pytest.mark.parametrize(
    ("words", "verdict"),
    [("setup|doors are open", Verdict.READY), ("setup|oh dear", Verdict.CRASHED)],
)
async def test_any_program_is_watched_with_patterns_of_one_s_own(
    site: Site, start: Start, watch: Watch, words: str, verdict: Verdict
) -> None:
    rules = pattern_rules(ready=["doors are open"], fail=["oh dear"], progress=["setup"])
    matcher = CatalogueMatcher([*rules, *site.catalogue.rules_for("generic")], OPENERS)
    body = f"print({words!r}.replace('|', chr(10)), flush=True); input()"
    start(sys.executable, "-c", body, shell='sleep 3600 | "$@" >>"$LOG" 2>&1')

    last = await last_of(watch(matcher=matcher))

    assert last.explanation.verdict is verdict


async def _until_open(port: int) -> None:
    """Wait until somebody listens on `port`."""
    async with asyncio.timeout(LIMIT_S):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.02)
            else:
                writer.close()
                return
