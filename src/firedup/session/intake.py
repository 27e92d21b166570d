"""Feeds what a log gets, over one link after the other, and knows how far it has come."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from contextlib import closing
from time import monotonic

from firedup.core.event import Event, LogData
from firedup.host.file import FileFacts, LogPosition, follow_log, stat_file
from firedup.host.link import Agent
from firedup.host.logfile import LogFile, find_log_files
from firedup.session.contact import Contact

# What was written before an end may take so long to arrive.
CATCH_UP_S = 60.0
# Nothing more will come when nothing came for so many pauses, behind each of which the agent
# answered promptly: slow answers mean that one of the two machines has no time for anybody.
PAUSE_S, PROMPT_S, PROMPT_ANSWERS = 1.0, 1.0, 10


class Intake:
    """Follows the log at `log`; `position` is behind what was fed last.

    `contact` dates what came while the link was down. `gate` is what has to be done once before
    the first byte is fed. `recall` is asked before that byte, too: a log that was truncated before
    anybody read of it has nothing by which to know that it is another. It feeds what came before,
    sets the position behind that, and says whether there was any.
    """

    def __init__(self, log: str, contact: Contact, feed: Callable[[Event], None]) -> None:
        self.log = log
        self.position = LogPosition()
        self.gate: Callable[[Agent], Awaitable[object]] | None = None
        self.recall: Callable[[Agent], Awaitable[bool]] | None = None
        self._contact = contact
        self._feed = feed
        self._is_missing = False
        self._has_read = asyncio.Event()

    async def follow(self, agent: Agent) -> None:
        """Feed all that is new, for ever."""
        self._is_missing = False
        while True:
            await self._follow(agent)

    async def _follow(self, agent: Agent) -> None:
        """Feed what is new, until it shows that something came before."""
        heed = self._contact.heed
        with closing(follow_log(agent, self.log, self.position, heed=heed)) as reader:
            async for event in reader:
                if isinstance(event, LogData):
                    if self.gate is not None:
                        await self.gate(agent)
                        self.gate = None
                    is_unread = (self.position.generation, self.position.offset) == (0, 0)
                    if is_unread and self.recall is not None and await self.recall(agent):
                        self._has_read.set()
                        return
                self.position = reader.position
                self._contact.hears(self.log)
                if isinstance(event, LogData):
                    for part in self._contact.date(event):
                        self._feed(part)
                else:
                    self._feed(event)
                    self._is_missing = event.state == "missing"
                self._has_read.set()

    async def catch_up(self, agent: Agent) -> None:
        """Wait until what the log holds now has been fed: last words come before the end."""
        before, end = self.position, await self._find_end(agent)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CATCH_UP_S):
                while True:
                    self._has_read.clear()
                    if _is_beyond(self.position, end):  # it has grown since, or was truncated
                        end = await self._find_end(agent)
                    if not self._is_behind(before, end):
                        return
                    if not await self._hears_more(agent):
                        return

    async def _hears_more(self, agent: Agent) -> bool:
        """Wait for what comes next; False when an agent that has time has nothing to say."""
        prompt_answers = 0
        while prompt_answers < PROMPT_ANSWERS:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(PAUSE_S):
                    await self._has_read.wait()
                return True
            asked_s = monotonic()
            await agent.call("clock")
            is_prompt = monotonic() - asked_s < PROMPT_S
            prompt_answers = prompt_answers + 1 if is_prompt else 0
        return self._has_read.is_set()

    async def _find_end(self, agent: Agent) -> FileFacts | LogFile | None:
        """The file with the last words as it is now: by the log's name, or moved away since."""
        named = await stat_file(agent, self.log)
        own = (self.position.dev, self.position.ino)
        if named is not None and (named.size or (named.dev, named.ino) == own):
            return named
        found = await find_log_files(agent, self.log, pid=self.position.pid)
        return next((file for file in found.files if file.identity == own), named)

    def _is_behind(self, before: LogPosition, end: FileFacts | LogFile | None) -> bool:
        """Whether more of what was there at `end` is to come; `before` that, it was read so far."""
        if end is None:  # what has no name, only who follows it can see
            return not self._is_missing
        is_here = self.position.generation == before.generation
        if is_here and (_is_beyond(before, end) or _is_beyond(self.position, end)):
            return True  # it was truncated, which who follows it has yet to see
        is_same = (self.position.dev, self.position.ino) == (end.dev, end.ino)
        return end.size > 0 and not (is_same and self.position.offset >= end.size)


def _is_beyond(position: LogPosition, end: FileFacts | LogFile | None) -> bool:
    """Whether more was read of a file than it holds at `end`."""
    is_same = end is not None and (position.dev, position.ino) == (end.dev, end.ino)
    return is_same and end is not None and position.offset > end.size
