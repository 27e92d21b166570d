"""Clients, agents and keepers are killed; whoever comes next goes on at the exact byte."""

import asyncio
import contextlib
import os
import random
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from workbench import LIMIT_S, RUNS, Site, last_of, recorded, story, until

from firedup.core.event import Event, LogData
from firedup.core.model import Explanation, State, Verdict
from firedup.host.base import local_host
from firedup.host.file import follow_log
from firedup.host.link import Agent, open_agent
from firedup.host.run import watch_run as watch_end
from firedup.profile.pipeline import Pipeline
from firedup.session.history import History, load_history
from firedup.session.registry import Run, find_run
from firedup.session.run import watch_run
from firedup.session.watch import Watching
from firedup.store.event import EventReader, LogRange
from firedup.testing.script import End, Script, line

LINE_S = 0.006
EXIT = Watching(until="exit", timeout_s=60)


def whole(name: str, end: End) -> Script:
    """A recorded log played to its last byte, then `end`."""
    lines = (RUNS / "sglang" / name).read_bytes().splitlines(keepends=True)
    pieces = tuple(replace(line(i * LINE_S, ""), data=text) for i, text in enumerate(lines))
    return Script(pieces, end=replace(end, at_s=len(lines) * LINE_S))


def served() -> Script:
    """A server that comes up with two ranks and a drafter, and dies of a signal later."""
    script = recorded("s05_tp2_eagle3.log", line_s=LINE_S)
    return replace(script, end=End(script.pieces[-1].at_s + 0.3, signal=signal.SIGSEGV))


SCRIPTS = {
    "served": served(),
    "warm-up": whole("e01_eagle3.log", End(0, signal=signal.SIGKILL)),
    "rank-lost": whole("f13_tp2_kill9_rank1_load.log", End(0, signal=signal.SIGKILL)),
    "no-cause": whole("f06_sigterm_during_load.log", End(0, 3)),
}


class Noting(Pipeline):
    """A pipeline that keeps the bytes that it took."""

    taken: list[bytes]

    def feed(self, event: Event) -> None:
        before = self.log_position[1]
        super().feed(event)
        if isinstance(event, LogData) and (count := self.log_position[1] - before):
            self.taken.append(event.data[-count:])


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """What the pipelines of this test's watches took of the log."""
    pieces: list[bytes] = []
    monkeypatch.setattr(Noting, "taken", pieces, raising=False)
    monkeypatch.setattr("firedup.session.watching.Pipeline", Noting)
    return pieces


class Clients:
    """Client processes that watch a run until they are killed."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.pid = 0
        self.seen, self._saying = os.pipe()

    def start(self, run: Run) -> None:
        self.pid = os.fork()
        if self.pid == 0:  # nothing of the parent's loop may be touched here
            try:
                asyncio.run(self._watch(run.label.id))
            finally:
                os._exit(0)

    async def _watch(self, run_id: str) -> None:
        async with open_agent(local_host()) as agent:
            run = await find_run(agent, run_id)
            async for _ in watch_run(agent, self.site.catalogue, self.site.matcher, run, EXIT):
                os.write(self._saying, b"s")

    async def wait_watching(self) -> None:
        """Until some client has shown a snapshot since the last call."""
        async with asyncio.timeout(LIMIT_S):
            await asyncio.to_thread(os.read, self.seen, 1 << 16)

    def kill(self) -> None:
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            self.pid = 0

    def close(self) -> None:
        self.kill()
        os.close(self.seen)
        os.close(self._saying)


@pytest.fixture
def clients(site: Site) -> Iterator[Clients]:
    made = Clients(site)
    yield made
    made.close()


async def at_points(agent: Agent, log: str, points: list[int]) -> AsyncIterator[int]:
    """Each point as soon as the log has grown beyond it."""
    rest = list(points)
    with closing(follow_log(agent, log)) as reader:
        while rest:
            event = await anext(reader)
            while rest and isinstance(event, LogData) and event.offset + len(event.data) > rest[0]:
                yield rest.pop(0)


def size_of(script: Script) -> int:
    return sum(len(piece.data) for piece in script.pieces)


async def undisturbed(site: Site, script: Script) -> Explanation:
    run = await site.launch(site.serve(site.fake(script)))
    return (await site.conclude(run, until="exit")).explanation


def replay(site: Site, run: Run) -> Explanation:
    """What events.jsonl alone, with the log's bytes put back, says about the run."""
    pipeline = Pipeline(site.matcher, year=2026, engine=run.spec.engine)
    log = Path(run.log).read_bytes()
    reader = EventReader()
    for read in (*reader.feed((Path(run.folder) / "events.jsonl").read_bytes()), *reader.close()):
        event = read
        if isinstance(read, LogRange):
            data = log[read.offset : read.offset + read.length]
            event = LogData(read.at_ns, read.generation, read.offset, data)
        pipeline.feed(event)
    return pipeline.snapshot().explanation


@pytest.mark.parametrize(("number", "kind"), list(enumerate(SCRIPTS)))
async def test_a_client_killed_at_random_points_is_followed_byte_for_byte(
    site: Site, clients: Clients, taken: list[bytes], number: int, kind: str
) -> None:
    script = SCRIPTS[kind]
    expected = await undisturbed(site, script)
    taken.clear()
    dice = random.Random(number)
    points = sorted(dice.randrange(size_of(script)) for _ in range(5))
    run = await site.launch(site.serve(site.fake(script)))
    clients.start(run)
    async for point in at_points(site.agent, run.log, points):
        if point % 2:  # half of them are killed at work, half of them wherever they are
            await clients.wait_watching()
        clients.kill()
        clients.start(run)
    clients.kill()

    last = await site.conclude(run, until="exit")

    assert story(last.explanation) == story(expected)
    assert last.explanation.notes == expected.notes
    assert b"".join(taken) == Path(run.log).read_bytes()
    assert story(replay(site, run)) == story(expected)


async def test_an_agent_killed_under_a_living_client_is_replaced_and_nothing_is_lost(
    site: Site, taken: list[bytes]
) -> None:
    script = SCRIPTS["served"]
    expected = await undisturbed(site, script)
    taken.clear()
    run = await site.launch(site.serve(site.fake(script)))
    async with open_agent(local_host()) as doomed, asyncio.TaskGroup() as group:
        snapshots = site.watch(run, doomed, until="exit")
        group.create_task(kill_agents(site, run, [2000, 9000, 20000]))

        async for snapshot in snapshots:
            last = snapshot
        assert not doomed.is_alive

    assert story(last.explanation) == story(expected)
    assert last.explanation.notes == expected.notes
    assert b"".join(taken) == Path(run.log).read_bytes()
    assert story(replay(site, run)) == story(expected)


async def test_an_agent_killed_while_the_past_is_read_is_replaced(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = await site.launch(site.serve(site.fake(SCRIPTS["no-cause"])))
    await site.conclude(run, until="exit")
    said: list[str] = []
    async with open_agent(local_host()) as doomed:

        async def break_once(agent: Agent, *given: Any, **named: Any) -> History:
            if agent is doomed:
                psutil.Process(doomed.hello["pid"]).kill()
            return await load_history(agent, *given, **named)

        monkeypatch.setattr("firedup.session.run.load_history", break_once)
        last = await last_of(site.watch(run, doomed, until="exit", say=said.append))

    assert last.explanation.verdict is Verdict.CRASHED
    assert said == ["the link is down: local: the agent ended", "the link is up again"]


async def kill_agents(site: Site, run: Run, points: list[int]) -> None:
    """Kill the agents of this process at these points of the log, except the test's own."""
    own = site.agent.hello["pid"]
    async for _ in at_points(site.agent, run.log, points):
        for child in psutil.Process().children():
            with contextlib.suppress(psutil.NoSuchProcess):  # a zombie is one, too: killed before
                if child.pid != own and "serve" in child.cmdline():
                    child.kill()


async def test_a_killed_keeper_leaves_the_server_unkept_and_its_end_unknown(site: Site) -> None:
    run = await site.launch(site.serve(site.fake(recorded("s01_success.log"))))
    assert run.state.keeper is not None
    assert run.state.server is not None
    snapshots = site.watch(run, until="exit")
    await until(snapshots, lambda now: now.explanation.verdict is Verdict.READY)

    os.kill(run.state.keeper.pid, signal.SIGKILL)
    unkept = await until(snapshots, lambda now: now.state is State.UNKEPT)
    sampled = await until(snapshots, lambda now: now.now_ns > unkept.now_ns and now.processes)
    os.kill(run.state.server.pid, signal.SIGKILL)
    last = await last_of(snapshots)
    attached = await site.conclude(await find_run(site.agent, run.label.id))

    assert "exit status will not be known" in unkept.explanation.notes[-1]
    assert unkept.explanation.verdict is Verdict.READY
    assert sampled.has_open_port
    for snapshot in (last, attached):
        assert snapshot.state is State.EXITED
        assert (snapshot.exit_code, snapshot.exit_signal) == (None, None)
        assert snapshot.explanation.verdict is Verdict.CRASHED
        assert snapshot.explanation.cause is not None
        assert "exit status unknown" in snapshot.explanation.cause.line


async def test_an_attach_to_an_unkept_run_says_so(site: Site) -> None:
    run = await site.launch(site.serve(site.fake(recorded("s01_success.log"))))
    assert run.state.keeper is not None
    await site.conclude(run)
    gone = psutil.Process(run.state.keeper.pid)
    gone.kill()
    async with aclosing(watch_end(site.agent, run.label.id)) as ends:
        await anext(ends)

    last = await site.conclude(await find_run(site.agent, run.label.id))

    assert last.explanation.verdict is Verdict.READY
    assert last.state is State.UNKEPT
    assert any("the keeper is gone" in note for note in last.explanation.notes)
