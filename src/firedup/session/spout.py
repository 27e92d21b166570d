"""Reads the log that a program on the host prints, over any number of links and programs."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from firedup.core.event import LogData, Noted
from firedup.host.frame import Data
from firedup.host.link import Agent
from firedup.host.pour import pour
from firedup.host.source import Source
from firedup.host.stamp import Cursor, Poured, Sifter, StampedLines
from firedup.host.standing import Standing
from firedup.session.watch import Watch

# After the end: how long its last words may take on the way, and the reading of all that is kept.
DRAIN_S, LAST_READ_S = 2.0, 20.0
AGAIN_S, AGAIN_LAST_S = 0.2, 3.0
# Lines written within this time are told as one piece.
TOGETHER_NS = 100_000_000


class Spout:
    """Feeds a watch with the log of `source`; `dry` is set when the printing program has ended."""

    def __init__(self, watch: Watch, source: Source) -> None:
        self.dry = asyncio.Event()
        self._watch = watch
        self._source = source
        self._cursor = Cursor()
        self._offset = 0
        self._has_read = False

    async def read_once(self, agent: Agent, standing: Standing) -> None:
        """Read what is there; what was written before the watch began has the log's clock alone."""
        await self._pour_once(agent, standing, follows=False)

    async def follow(self, agent: Agent, standing: Standing) -> None:
        """Follow the log; the printing program is started again whenever it ends."""
        pause_s = AGAIN_S
        while True:
            before = self._offset
            await self._pour_once(agent, standing, follows=True)
            self.dry.set()
            pause_s = AGAIN_S if self._offset > before else min(pause_s * 2, AGAIN_LAST_S)
            await asyncio.sleep(pause_s)

    async def _pour_once(self, agent: Agent, standing: Standing, *, follows: bool) -> None:
        sifter, decoder = Sifter(self._cursor), self._source.decoder()
        argv = self._source.argv(standing, self._cursor, follows=follows)
        stream = pour(agent, argv, merges=self._source.merges)
        try:
            async for message in stream:
                if isinstance(message, Data):
                    self._give(sifter.sift(decoder.feed(message.data)))
                    self._cursor = sifter.cursor
            if not follows:
                # A program that follows may have been killed within a line: the next one tells it.
                self._give(sifter.sift(decoder.close()))
                self._cursor = sifter.cursor
        finally:
            stream.close()
        is_last = self._has_read and not follows  # of a container that may be gone
        self._has_read = True
        if isinstance(decoder, StampedLines) and decoder.words and not is_last:
            self.note(f"{argv[0]} said: {decoder.words[-1]}")

    def _give(self, lines: list[Poured]) -> None:
        """Feed lines, those of about the same time as one piece."""
        begin = 0
        for index in range(1, len(lines) + 1):
            is_end = index == len(lines)
            if is_end or lines[index].wall_ns - lines[begin].wall_ns > TOGETHER_NS:
                data = b"".join(line.data for line in lines[begin:index])
                at_ns = self.boottime_of(lines[index - 1].wall_ns)
                self._watch.feed(LogData(at_ns, 0, self._offset, data))
                self._offset += len(data)
                begin = index

    def boottime_of(self, wall_ns: int | None) -> int:
        """The host's boottime at a moment of its wall clock, now at the latest."""
        clock = self._watch.clock
        if wall_ns is None:
            return clock.boottime_ns()
        ago_ns = max(0, clock.wall_ns() - wall_ns)
        return max(0, clock.boottime_ns() - ago_ns)

    def note(self, text: str) -> None:
        """A remark about the watch."""
        self._watch.feed(Noted(self._watch.clock.boottime_ns(), text))

    async def drain(self, agent: Agent, standing: Standing, pouring: asyncio.Task[None]) -> None:
        """Read the server's last words: what its keeper still tells, and all that it has kept."""
        if self._source.merges:  # the printing program ends with the server
            with suppress(TimeoutError):
                async with asyncio.timeout(DRAIN_S):
                    await self.dry.wait()
        pouring.cancel()
        await asyncio.wait([pouring])
        try:
            async with asyncio.timeout(LAST_READ_S):
                await self._pour_once(agent, standing, follows=False)
        except TimeoutError:
            limit = f"{LAST_READ_S:g} s"
            self.note(f"the log's end was not read within {limit}: its last lines may be missing")
