"""A run's log as raw bytes: the whole, the last lines, or everything new."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import closing

from firedup.core.event import LogData
from firedup.host.file import follow_log, open_file, read_file
from firedup.host.frame import Data
from firedup.host.link import Agent
from firedup.session.history import end_of_log, position_after
from firedup.session.registry import Run

_TAIL_BLOCK_BYTES = 1 << 16


async def read_log(
    agent: Agent, run: Run, *, last_lines: int | None = None, follow: bool = False
) -> AsyncIterator[bytes]:
    """The bytes of the run's log, exactly as written; with `follow` for as long as it lives.

    `last_lines` leaves out all but the last lines, None gives everything. What other runs wrote
    into the same file, before or after, is not given.
    """
    size = await end_of_log(agent, run.folder, run.log)
    start = run.state.log_start
    if last_lines is not None:
        start = await _start_of_tail(agent, run.log, start, size, last_lines)
    if size > start:
        with closing(open_file(agent, run.log, offset=start, length=size - start)) as stream:
            async for piece in stream:
                if isinstance(piece, Data):
                    yield piece.data
    if follow and run.state.exit is None:
        position = await position_after(agent, run.log, 0, size)
        with closing(follow_log(agent, run.log, position)) as reader:
            async for event in reader:
                if isinstance(event, LogData):
                    yield event.data


async def _start_of_tail(agent: Agent, path: str, first: int, size: int, lines: int) -> int:
    """The offset at which the last `lines` lines begin."""
    at, tail = size, b""
    while at > first and tail.count(b"\n", 0, -1) < lines:
        length = min(_TAIL_BLOCK_BYTES, at - first)
        at -= length
        tail = await read_file(agent, path, offset=at, length=length) + tail
    kept = tail.splitlines(keepends=True)[-lines:] if lines else []
    return size - sum(map(len, kept))
