"""Last words are waited for, wherever the log is by then."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from workbench import LIMIT_S

from firedup.core.event import Event, LogData
from firedup.host.file import follow_log
from firedup.host.link import Agent
from firedup.session.clock import HostClock
from firedup.session.contact import Contact
from firedup.session.history import LastBytes, position_after
from firedup.session.intake import Intake

FIRST, LAST = b"INFO: loading a model\n", b"RuntimeError: the last word\n"
MORE = b"ERROR: more\n"


def rename(log: Path) -> None:
    log.rename(log.with_name("server.log.1"))


def rename_and_begin_anew(log: Path) -> None:
    rename(log)
    log.touch()


def copy_and_truncate(log: Path) -> None:
    log.with_name("server.log.1").write_bytes(log.read_bytes())
    log.write_bytes(b"")


def copy_truncate_and_go_on(log: Path, more: bytes) -> None:
    copy_and_truncate(log)
    log.write_bytes(more)


@pytest.mark.parametrize(
    ("last", "move", "more"),
    [
        (LAST, lambda _: None, b""),
        (LAST, rename, b""),
        (LAST, rename_and_begin_anew, b""),
        (LAST, copy_and_truncate, b""),
        (LAST, copy_truncate_and_go_on, MORE),
        (LAST, Path.unlink, b""),
        # Much of the copy is read before its end, and all of it is longer than the log now.
        (LAST * 20_000, copy_truncate_and_go_on, MORE * 10),
    ],
)
async def test_an_end_waits_for_all_that_was_written(
    agent: Agent, tmp_path: Path, last: bytes, move: Callable[..., None], more: bytes
) -> None:
    log, fed = tmp_path / "server.log", bytearray()
    log.write_bytes(FIRST)
    has_first, may_go_on = asyncio.Event(), asyncio.Event()

    def feed(event: Event) -> None:
        if isinstance(event, LogData):
            fed.extend(event.data)
            has_first.set()
            intake.gate = breathe

    async def breathe(_: Agent) -> None:
        """Whoever waits for an end looks after each piece."""
        for _ in range(3):
            await asyncio.sleep(0)

    async def wait(_: Agent) -> None:
        await may_go_on.wait()

    intake = Intake(str(log), Contact(agent, await HostClock.read(agent), feed), feed)
    async with asyncio.timeout(LIMIT_S):
        following = asyncio.ensure_future(intake.follow(agent))
        await has_first.wait()
        intake.gate = wait
        with log.open("ab") as file:
            file.write(last)
            file.flush()
            move(log, more) if more else move(log)
            ending = asyncio.ensure_future(intake.catch_up(agent))
            for _ in range(8):  # time enough for one who does not wait
                await agent.call("clock")
            assert not ending.done()
            may_go_on.set()
            await ending
        following.cancel()
        await asyncio.wait([following])

    assert bytes(fed) == FIRST + last + more


async def test_what_was_truncated_after_it_was_read_goes_on_in_its_copy(
    agent: Agent, tmp_path: Path
) -> None:
    """A session reads what there is, and only then follows it from there."""
    log, read = tmp_path / "server.log", LastBytes()
    whole = b"".join(b"%d\n" % number for number in range(500))
    log.write_bytes(whole)
    read.take(0, 0, whole[:600])
    copy_truncate_and_go_on(log, MORE)
    position = await position_after(agent, str(log), (0, 600), read)
    rest: dict[int, bytes] = {}
    with closing(follow_log(agent, str(log), position)) as reader:
        async with asyncio.timeout(LIMIT_S):
            async for event in reader:
                if isinstance(event, LogData):
                    rest[event.generation] = rest.get(event.generation, b"") + event.data
                if rest.get(1) == MORE:
                    break

    assert rest == {0: whole[600:], 1: MORE}


async def test_a_log_that_never_was_keeps_nobody_waiting(agent: Agent, tmp_path: Path) -> None:
    fed: list[Event] = []
    contact = Contact(agent, await HostClock.read(agent), fed.append)
    intake = Intake(str(tmp_path / "server.log"), contact, fed.append)
    following = asyncio.ensure_future(intake.follow(agent))
    async with asyncio.timeout(LIMIT_S):
        await intake.catch_up(agent)
    following.cancel()
    await asyncio.wait([following])

    assert [event.state for event in fed] == ["missing"]
