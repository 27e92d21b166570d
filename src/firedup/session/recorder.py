"""Appends what a session fed its pipeline to events.jsonl in the run folder."""

from __future__ import annotations

import asyncio
import contextlib

from firedup.core.error import HostError
from firedup.core.event import Event, LogData
from firedup.host.file import append_file
from firedup.host.link import Agent
from firedup.store.event import encode_event, encode_output, encode_range

FLUSH_S = 0.5
MAX_APPEND_BYTES = 48 * 1024


class Recorder:
    """Collects events and appends them in batches; a folder that cannot be written stops it."""

    def __init__(self, agent: Agent, path: str) -> None:
        self._agent = agent
        self._path = path
        self._lines: list[bytes] = []
        self._last_range: LogData | None = None

    def use(self, agent: Agent) -> None:
        """Append through `agent` from now on (the link was renewed)."""
        self._agent = agent

    def add(self, event: Event) -> None:
        """Remember one event; neighbouring ranges of the log become one line."""
        last = self._last_range
        if isinstance(event, LogData):
            if (
                last is not None
                and last.generation == event.generation
                and last.offset + len(last.data) == event.offset
            ):
                event = LogData(last.at_ns, last.generation, last.offset, last.data + event.data)
            else:
                self._close_range()
            self._last_range = event
            return
        self._close_range()
        self._lines.append(encode_event(event))

    def add_output(self, kind: str, value: dict[str, object]) -> None:
        """Remember an output line (`verdict`, `diagnosis`), which a replay ignores."""
        self._close_range()
        self._lines.append(encode_output(kind, value))

    async def run(self) -> None:
        """Flush for ever."""
        while True:
            await asyncio.sleep(FLUSH_S)
            await self.flush()

    async def flush(self) -> None:
        """Append what was collected.

        Silent when the link or the disk refuses: the log and the keeper's files remain the truth.
        """
        self._close_range()
        lines, self._lines = self._lines, []
        while lines:
            batch = b""
            while lines and len(batch) + len(lines[0]) <= MAX_APPEND_BYTES:
                batch += lines.pop(0)
            if not batch:
                batch = lines.pop(0)
            with contextlib.suppress(HostError):
                await append_file(self._agent, self._path, batch)

    def _close_range(self) -> None:
        if self._last_range is not None:
            self._lines.append(encode_range(self._last_range))
            self._last_range = None
