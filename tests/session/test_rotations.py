"""Logs that were rotated while nobody watched: the same bytes and the same diagnosis."""

import asyncio
import json
import os
import shutil
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from test_resume import Clients, clients, taken
from workbench import LIMIT_S, RUNS, Site, last_of, story

from firedup.core.event import LogData
from firedup.core.log.context import last_lines
from firedup.core.model import Explanation, Verdict
from firedup.host.run import watch_run as watch_end
from firedup.profile.pipeline import Pipeline
from firedup.session.explain import Looking
from firedup.session.explain_run import explain_run
from firedup.session.log import read_log
from firedup.session.registry import Run, find_run
from firedup.store.event import EventReader, LogRange

__all__ = ["clients", "taken"]  # fixtures
pytestmark = pytest.mark.timeout(180)

CRASH = (RUNS / "sglang" / "f05_truncated_shard.log").read_bytes().splitlines(keepends=True)
CUT = next(i for i, text in enumerate(CRASH) if b"Traceback" in text)
PARTS = [b"".join(CRASH[: CUT // 2]), b"".join(CRASH[CUT // 2 : CUT]), b"".join(CRASH[CUT:])]

# Writes one part after the other, each when it is told to; `reopens` as a log handler does.
SERVER = """
import json, os, signal, sys, time
folder, log, reopens = {folder!r}, {log!r}, {reopens!r}
file = 1
for number in range(3):
    while not os.path.exists(f"{{folder}}/go-{{number}}"):
        time.sleep(0.01)
    if reopens:
        file = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    with open(f"{{folder}}/part-{{number}}", "rb") as part:
        os.write(file, part.read())
while not os.path.exists(f"{{folder}}/go-3"):
    time.sleep(0.01)
os.kill(os.getpid(), signal.SIGKILL)
"""


@dataclass
class Stage:
    """A server whose log the test rotates. `mode`: who moves what, and how the server goes on."""

    site: Site
    folder: Path
    mode: str
    turn: int = 0
    run: Run = field(init=False)

    @property
    def log(self) -> Path:
        return self.folder / "server.log"

    async def begin(self) -> None:
        self.folder.mkdir()
        for number, part in enumerate(PARTS):
            (self.folder / f"part-{number}").write_bytes(part)
        body = SERVER.format(
            folder=str(self.folder), log=str(self.log), reopens=self.mode in ("rename", "delete")
        )
        argv = self.site.serve(self.site.program(body))
        self.run = await self.site.launch(argv, log=str(self.log))

    async def write(self, size: int) -> None:
        """Let the server write its next part, and wait until the keeper saw `size` bytes."""
        (self.folder / f"go-{self.turn}").touch()
        self.turn += 1
        await wait_for(lambda: self.sampled() == size)

    def sampled(self) -> int:
        path = Path(self.run.folder) / "samples.jsonl"
        lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
        whole = [text for text in lines if text.endswith(b"\n")]
        return int(json.loads(whole[-1])["log_size"]) if whole else -1

    def rotate(self) -> None:
        """As logrotate with numbers: the newest is .1."""
        one, two = (self.folder / f"server.log.{n}" for n in (1, 2))
        if one.exists():
            one.rename(two)
        match self.mode:
            case "rename" | "keep":
                self.log.rename(one)
            case "copytruncate":
                shutil.copyfile(self.log, one)
                os.truncate(self.log, 0)
            case "delete":
                self.log.unlink()

    async def play(self, between: Callable[[int], Awaitable[None]] | None = None) -> None:
        """All three parts with a rotation after the first and the second, and the end."""
        size = 0
        for number, part in enumerate(PARTS):
            size = size + len(part) if self.mode == "keep" and number < 2 else len(part)
            if self.mode == "keep":
                size = sum(map(len, PARTS[: number + 1]))
            await self.write(size)
            if between is not None:
                await between(number)
            if number == 0 or (number == 1 and self.mode != "keep"):
                self.rotate()
        (self.folder / "go-3").touch()
        async with aclosing(watch_end(self.site.agent, self.run.label.id)) as ends:
            async for _ in ends:
                pass
        self.run = await find_run(self.site.agent, self.run.label.id)


async def wait_for(holds: Callable[[], object]) -> None:
    async with asyncio.timeout(LIMIT_S):
        while not holds():
            await asyncio.sleep(0.02)


def replay(site: Site, run: Run, generations: list[bytes]) -> Explanation:
    """What events.jsonl alone, with the log's bytes put back, says about the run."""
    pipeline = Pipeline(site.matcher, year=2026, engine=run.spec.engine)
    reader = EventReader()
    for read in (*reader.feed((Path(run.folder) / "events.jsonl").read_bytes()), *reader.close()):
        event = read
        if isinstance(read, LogRange):
            data = generations[read.generation][read.offset : read.offset + read.length]
            event = LogData(read.at_ns, read.generation, read.offset, data)
        pipeline.feed(event)
    return pipeline.snapshot().explanation


async def live(site: Site, folder: Path, mode: str) -> Explanation:
    """The diagnosis of a session that was there all the time."""
    stage = Stage(site, folder, mode)
    await stage.begin()
    watching = asyncio.ensure_future(last_of(site.watch(stage.run, until="exit")))
    await stage.play()
    return (await watching).explanation


@pytest.mark.parametrize("mode", ["rename", "copytruncate", "keep"])
async def test_an_attach_after_rotations_that_nobody_watched_reads_every_byte(
    site: Site, taken: list[bytes], tmp_path: Path, mode: str
) -> None:
    expected = await live(site, tmp_path / "live", mode)
    assert b"".join(taken) == b"".join(PARTS)
    taken.clear()
    stage = Stage(site, tmp_path / "alone", mode)
    await stage.begin()
    await stage.play()

    last = await site.conclude(stage.run)
    again = await site.conclude(stage.run)

    assert last.explanation.verdict is Verdict.CRASHED
    assert story(last.explanation) == story(expected)
    assert story(again.explanation) == story(expected)
    assert last.explanation.notes == expected.notes
    assert b"".join(taken) == b"".join(PARTS) * 2
    generations = [b"".join(PARTS)] if mode == "keep" else PARTS
    assert story(replay(site, stage.run, generations)) == story(expected)
    assert b"".join([data async for data in read_log(site.agent, stage.run)]) == b"".join(PARTS)
    told = await explain_run(site.agent, stage.run, matcher=site.matcher, looking=Looking(1, 99))
    assert story(told) == story(expected)
    assert told.cause
    lines = [text.decode().rstrip() for text in CRASH]
    at = lines.index(told.cause.line)
    assert told.cause.before == (lines[at - 2],)  # carets and empty lines are passed over
    assert told.tail == last_lines(b"".join(CRASH), 99, is_whole=True)
    assert len(told.tail) > PARTS[2].count(b"\n")


@pytest.mark.parametrize("mode", ["rename", "copytruncate"])
async def test_a_client_killed_between_two_rotations_is_followed_by_one_that_says_the_same(
    site: Site, clients: Clients, taken: list[bytes], tmp_path: Path, mode: str
) -> None:
    expected = await live(site, tmp_path / "live", mode)
    taken.clear()
    stage = Stage(site, tmp_path / "killed", mode)
    await stage.begin()
    clients.start(stage.run)

    async def kill(number: int) -> None:
        if number == 1:  # after the first rotation, and before the second
            await clients.wait_watching()
            clients.kill()

    await stage.play(kill)

    last = await site.conclude(stage.run)

    assert story(last.explanation) == story(expected)
    assert last.explanation.notes == expected.notes
    assert b"".join(taken) == b"".join(PARTS)
    assert story(replay(site, stage.run, PARTS)) == story(expected)


async def test_only_what_is_really_gone_is_told_as_a_gap(
    site: Site, taken: list[bytes], tmp_path: Path
) -> None:
    stage = Stage(site, tmp_path / "deleted", "delete")
    await stage.begin()
    await stage.play()

    last = await site.conclude(stage.run)
    lost: list[int | None] = []
    rest = [data async for data in read_log(site.agent, stage.run, say_lost=lost.append)]

    assert last.explanation.verdict is Verdict.CRASHED
    assert "SafetensorError" in (last.explanation.cause.line if last.explanation.cause else "")
    for part in PARTS[:2]:
        told = f"{len(part)} bytes of the log were destroyed before they could be read"
        assert told in last.explanation.notes
    assert b"".join(taken) == b"".join(rest) == PARTS[2]
    assert lost == [len(part) for part in PARTS[:2]]


async def test_two_rotations_between_two_samples_are_read_or_told(
    site: Site, taken: list[bytes], tmp_path: Path
) -> None:
    """The second file has no sample of its own; its name and its time say what it is."""
    stage = Stage(site, tmp_path / "fast", "rename")
    await stage.begin()
    await stage.write(len(PARTS[0]))
    stage.rotate()
    stage.log.write_bytes(PARTS[1])
    stage.rotate()
    (stage.folder / "go-1").touch()
    (stage.folder / "part-1").write_bytes(PARTS[2])
    await wait_for(lambda: stage.sampled() == len(PARTS[2]))
    samples = (Path(stage.run.folder) / "samples.jsonl").read_text().splitlines()
    assert len(PARTS[1]) not in [json.loads(text)["log_size"] for text in samples]

    whole = b"".join([data async for data in read_log(site.agent, stage.run)])
    (stage.folder / "server.log.1").unlink()
    lost: list[int | None] = []
    rest = [data async for data in read_log(site.agent, stage.run, say_lost=lost.append)]

    assert whole == b"".join(PARTS)
    assert b"".join(rest) == PARTS[0] + PARTS[2]
    assert lost == [None]


async def test_a_deleted_log_is_read_as_long_as_its_server_writes_to_it(
    site: Site, taken: list[bytes], tmp_path: Path
) -> None:
    stage = Stage(site, tmp_path / "held", "keep")
    await stage.begin()
    await stage.write(len(PARTS[0]))
    stage.log.unlink()
    await stage.write(len(PARTS[0] + PARTS[1]))
    seen = b""

    async with asyncio.timeout(LIMIT_S), aclosing(site.watch(stage.run, until="exit")) as watch:
        async for _ in watch:
            if b"".join(taken) == PARTS[0] + PARTS[1]:
                break
    async with (
        asyncio.timeout(LIMIT_S),
        aclosing(read_log(site.agent, stage.run, follow=True)) as reader,
    ):
        async for data in reader:
            seen += data
            if seen == PARTS[0] + PARTS[1]:
                (stage.folder / "go-2").touch()
            if seen == b"".join(PARTS):
                break
