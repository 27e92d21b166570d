"""A log that a program prints is read once, byte for byte, whenever that program dies."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from firedup.core.event import Event, LogData
from firedup.host.link import Agent
from firedup.host.source import Source
from firedup.host.stamp import Cursor, StampedLines
from firedup.host.standing import Standing
from firedup.session.clock import HostClock
from firedup.session.spout import Spout
from firedup.session.watch import Watch

LIMIT_S = 100.0
LINES = b"".join(
    b"2026-11-29T10:00:%02d.%09dZ line %d\n" % (number // 10, number, number)
    for number in range(60)
)
TEXT = b"".join(b"line %d\n" % number for number in range(60))


@dataclass
class Printer:
    """A log whose program prints as many bytes as each try may, and is then killed."""

    folder: Path
    tries: list[int]
    word: str = "printer:x"
    merges: bool = False
    waiter: tuple[str, ...] | None = None
    printed: list[int] = field(default_factory=list)

    def argv(self, standing: Standing, cursor: Cursor, *, follows: bool) -> tuple[str, ...]:
        log = shlex.quote(str(self.folder / "log"))
        if not follows:
            return ("cat", str(self.folder / "log"))
        size = self.tries[min(len(self.printed), len(self.tries) - 1)]
        self.printed.append(size)
        return ("sh", "-c", f"head -c {size} {log}; kill -KILL $$")

    def decoder(self) -> StampedLines:
        return StampedLines()

    async def look(self, agent: Agent) -> Standing:
        return Standing("1", is_running=True)


@dataclass
class Listener:
    """Takes the place of a watch."""

    clock: HostClock
    heed: Callable[[], None]
    data: bytes = b""

    def feed(self, event: Event) -> None:
        if isinstance(event, LogData):
            assert event.offset == len(self.data)
            self.data += event.data
            self.heed()


@pytest.mark.parametrize("size", [1, 45, 400, 1000])
async def test_a_line_within_which_the_program_was_killed_is_read_whole_by_the_next(
    agent: Agent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr("firedup.session.spout.AGAIN_S", 0.0)
    (tmp_path / "log").write_bytes(LINES)
    printer = Printer(tmp_path, [size, size + 7, len(LINES) - 3, len(LINES)])
    whole = asyncio.Event()
    listener = Listener(
        await HostClock.read(agent), lambda: whole.set() if listener.data == TEXT else None
    )
    spout = Spout(cast(Watch, cast(Any, listener)), cast(Source, printer))

    async with asyncio.timeout(LIMIT_S):
        following = asyncio.ensure_future(spout.follow(agent, await printer.look(agent)))
        try:
            await whole.wait()
        finally:
            following.cancel()
            await asyncio.wait([following])
        await spout.read_once(agent, await printer.look(agent))

    assert listener.data == TEXT
    assert printer.printed[:4] == printer.tries


async def test_a_last_line_without_an_end_is_read_when_nothing_more_comes(
    agent: Agent, tmp_path: Path
) -> None:
    (tmp_path / "log").write_bytes(LINES[:-1])
    printer = Printer(tmp_path, [])
    listener = Listener(await HostClock.read(agent), lambda: None)
    spout = Spout(cast(Watch, cast(Any, listener)), cast(Source, printer))

    await spout.read_once(agent, await printer.look(agent))

    assert listener.data == TEXT[:-1]
