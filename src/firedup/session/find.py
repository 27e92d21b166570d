"""Finds the process behind a log that somebody else's server writes."""

from __future__ import annotations

from dataclasses import dataclass

from firedup.core.error import UsageError
from firedup.host.base import OperationError
from firedup.host.link import Agent
from firedup.host.process import (
    TICKS_PER_S,
    Holder,
    ProcessFacts,
    describe_process,
    find_holders,
)

# Programs that write a log on behalf of another process.
_SCRIBES = frozenset({"tee", "script", "unbuffer", "ts", "stdbuf", "cat", "multilog", "rotatelogs"})
# A container engine notes the start a little later than the kernel.
SAME_START_S = 5.0


@dataclass(frozen=True, slots=True)
class Found:
    """The server's main process; None when nobody writes the log.

    `is_certain` is False when processes of other users could not be looked into.
    """

    process: ProcessFacts | None
    is_certain: bool


async def find_writer(agent: Agent, log: str, pid: int | None = None) -> Found:
    """The topmost process that holds `log` open for writing, or the one with `pid`.

    UsageError when `pid` does not exist on the host.
    """
    if pid is not None:
        try:
            return Found(await describe_process(agent, pid), is_certain=True)
        except OperationError as error:
            raise UsageError(
                f"there is no process {pid} on this host",
                why=error.what,
                todo="Leave --pid out: the process that writes the log is then looked for.",
            ) from error
    try:
        holders = await find_holders(agent, log)
    except OperationError as error:
        if error.code != "not-found":
            raise
        return Found(None, is_certain=True)  # the log is not there yet
    writers = [holder for holder in holders.holders if holder.is_writing]
    main = topmost(writers)
    return Found(main, holders.is_complete)


async def find_told(agent: Agent, pid: int, begun_ns: int | None) -> ProcessFacts | None:
    """The process `pid` of which a container engine or systemd told, None where it is not seen.

    Of a daemon elsewhere the number belongs to another machine: it is believed when the process
    began at `begun_ns` (host boottime), where that is known.
    """
    try:
        process = await describe_process(agent, pid)
    except OperationError:
        return None
    begun_s = process.start_ticks / TICKS_PER_S
    if begun_ns is not None and abs(begun_s - begun_ns / 1e9) > SAME_START_S:
        return None
    return process


def topmost(writers: list[Holder]) -> ProcessFacts | None:
    """The writer that started the others; scribes such as tee only when there is nobody else."""
    servers = [w for w in writers if w.process.name not in _SCRIBES] or writers
    pids = {writer.process.pid for writer in servers}
    roots = [w.process for w in servers if w.process.parent not in pids]
    return min(roots, key=lambda process: process.start_ticks, default=None)
