"""A file on the host that does not answer is told as that, and is no broken link."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import aclosing, suppress
from pathlib import Path

import pytest
from linkstory import Story
from workbench import Knowledge

from firedup.core.model import Snapshot, Verdict
from firedup.host.base import SilenceError
from firedup.host.link import Agent, open_agent
from firedup.session.attend import watch_log
from firedup.session.linked import LinkSpeaker, run_linked
from firedup.session.watching import Watching
from firedup.view.jsonl import JsonLines
from firedup.view.paper import Paper
from firedup.view.plain import Plain
from tests.hanging import Hanging, impatient_agent

LIMIT_S = 100.0
Talk = Callable[..., Awaitable[asyncio.subprocess.Process]]
SILENT = SilenceError("the file /nfs/log does not answer", where="box", path="/nfs/log")


async def test_a_file_that_does_not_answer_is_asked_again_over_the_same_link(agent: Agent) -> None:
    story, seen = Story(), []

    async def work(agent: Agent) -> None:
        seen.append(agent)
        story.now_s += 20.0
        if len(seen) < 4:
            raise SILENT

    assert await run_linked(agent, work, story, story.patience)
    assert seen == [agent] * 4
    assert story.silent == ["/nfs/log"] * 3
    assert story.told == []


async def test_a_file_that_never_answers_is_given_up_with_its_name(agent: Agent) -> None:
    story = Story(lost_after_s=600.0)

    async def work(agent: Agent) -> None:
        story.now_s += 20.0
        raise SILENT

    with pytest.raises(SilenceError, match="/nfs/log"):
        await run_linked(agent, work, story, story.patience)
    assert 600.0 <= story.now_s <= 630.0
    assert story.told == []


async def test_a_file_that_had_answered_for_a_while_is_waited_for_anew(agent: Agent) -> None:
    story, turns = Story(lost_after_s=100.0), iter([20.0, 20.0, 90.0] * 10)

    async def work(agent: Agent) -> None:
        hold_s = next(turns, None)
        if hold_s is not None:
            story.now_s += hold_s
            raise SILENT

    assert await run_linked(agent, work, story, story.patience)


def test_a_file_is_said_once_however_often_it_is_asked() -> None:
    said: list[str] = []
    speaker = LinkSpeaker(said.append)
    for _ in range(3):
        speaker.file_silent(SILENT)

    assert said == ["box: the file /nfs/log does not answer"]


@pytest.fixture
def share(tmp_path: Path) -> Iterator[Hanging]:
    hanging = Hanging(tmp_path / "hanging")
    yield hanging
    hanging.free()


# Writes a log where it stands; at the file "more" it goes on, and ends with a fault.
TALKER = """
import pathlib, sys, time
print("INFO: Load weight begin. avail mem=10 GB", flush=True)
while not pathlib.Path(sys.argv[1]).exists():
    time.sleep(0.01)
print("Capture cuda graph begin. This can take up to several minutes.", flush=True)
raise RuntimeError("the drafter does not fit")
"""


@pytest.fixture
async def talk() -> AsyncIterator[Talk]:
    """Starts a server that writes into a log and is ended with the test."""
    started: list[asyncio.subprocess.Process] = []

    async def start(log: Path, *words: str) -> asyncio.subprocess.Process:
        with log.open("wb") as file:
            server = await asyncio.create_subprocess_exec(*words, stdout=file, stderr=file)
        started.append(server)
        return server

    yield start
    for server in started:
        with suppress(ProcessLookupError):
            server.kill()
        await server.wait()


async def test_a_watch_names_the_log_that_does_not_answer_and_reads_on_afterwards(
    share: Hanging, state: Path, knowledge: Knowledge, tmp_path: Path, talk: Talk
) -> None:
    log, more = share.folder / "server.log", tmp_path / "more"
    words = (sys.executable, "-c", TALKER, str(more))
    server = await talk(log, *words)
    plain, lines = Plain(Paper(columns=200)), JsonLines()
    said: list[str] = []
    events: list[dict[str, object]] = []

    async def until(holds: Callable[[Snapshot], bool]) -> Snapshot:
        async for snapshot in watch:
            said.extend(plain.feed(snapshot))
            events.extend(map(json.loads, lines.feed(snapshot)))
            if holds(snapshot):
                return snapshot
        raise AssertionError("the watch ended before")

    async with asyncio.timeout(LIMIT_S), open_agent(share.host, bundle=impatient_agent()) as agent:
        watching = Watching(timeout_s=None, tick_s=0.1)
        snapshots = watch_log(
            agent, knowledge.catalogue, knowledge.matcher, str(log), watching, pid=server.pid
        )
        async with aclosing(snapshots) as watch:
            await until(lambda s: s.explanation.verdict is Verdict.LOADING and s.log_size > 40)
            share.hang()
            silent = await until(lambda s: s.link is not None)
            more.touch()
            await server.wait()
            share.free()
            last = await until(lambda s: s.link is None)
            if not last.is_final:  # the end may be known by the time that the file answers
                last = await until(lambda s: s.is_final)

    assert silent.link is not None
    assert silent.link.trouble == "file-silent"
    assert silent.explanation.verdict is Verdict.LOADING
    assert last.explanation.verdict is Verdict.CRASHED
    assert last.explanation.cause is not None
    assert last.explanation.cause.line == "RuntimeError: the drafter does not fit"
    told = f"the file {log} on box does not answer since"
    assert [line for line in said if told in line]
    assert not [line for line in said if "the link" in line or "no link" in line]
    assert [line for line in said if "the file answers again" in line]
    assert [note for note in last.explanation.notes if told in note]
    states = [event["state"] for event in events if event["event"] == "link"]
    assert (states[0], states[-1]) == ("silent", "up")


async def test_a_watch_that_cannot_begin_for_a_silent_file_ends_with_its_name(
    share: Hanging, state: Path, knowledge: Knowledge
) -> None:
    log = share.folder / "server.log"
    log.write_bytes(b"INFO: Load weight begin. avail mem=10 GB\\n")
    said: list[str] = []
    share.hang()
    async with asyncio.timeout(LIMIT_S), open_agent(share.host, bundle=impatient_agent()) as agent:
        watching = Watching(lost_after_s=0.5, say=said.append)
        with pytest.raises(SilenceError, match=str(log)) as refused:
            async for _ in watch_log(
                agent, knowledge.catalogue, knowledge.matcher, str(log), watching
            ):
                pass

    assert refused.value.exit_status == 3
