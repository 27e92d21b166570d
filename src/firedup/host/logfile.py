"""Files that are or were a log, typed: what tells them apart, and their bytes under any name."""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from firedup.host.link import Agent
from firedup.host.stream import Stream

MARK_BYTES = 256  # so many bytes are behind a mark


@dataclass(frozen=True, slots=True)
class LogFile:
    """One file. `is_log`: it has the log's own name now. Packed ones cannot be read as they are.

    Marks are CRC-32: `head` of the first, `tail` of the last 256 bytes, and `tails` of the 256
    bytes before each offset that was asked for.
    """

    path: str
    dev: int
    ino: int
    size: int
    modified_wall_ns: int
    is_log: bool = False
    is_packed: bool = False
    head: int | None = None
    tail: int | None = None
    tails: Mapping[int, int] = field(default_factory=dict)

    @property
    def identity(self) -> tuple[int, int]:
        """What tells it from other files, whatever its name."""
        return (self.dev, self.ino)

    def continues(self, log: str) -> bool:
        """Whether its name is the log's own with something after it, as rotators name files."""
        name = posixpath.basename(log)
        return posixpath.basename(self.path).startswith((f"{name}.", f"{name}-", f"{name}_"))


@dataclass(frozen=True, slots=True)
class LogFiles:
    """The log, where there is one, and what lies beside it, oldest change first.

    `at_ns` (boottime) and `wall_ns` say when that was so.
    """

    files: tuple[LogFile, ...]
    at_ns: int
    wall_ns: int

    @property
    def log(self) -> LogFile | None:
        """The file that has the log's name."""
        return next((file for file in self.files if file.is_log), None)


async def find_log_files(
    agent: Agent, path: str, *, sizes: Collection[int] = (), pid: int | None = None
) -> LogFiles:
    """The log at `path` and the files beside it that may have been it.

    `pid` is a process that may hold a log that was deleted.
    """
    value = await agent.call("log_files", path=path, sizes=sorted(sizes), pid=pid)
    return LogFiles(tuple(map(_decode, value["files"])), value["at_ns"], value["wall_ns"])


def open_log_file(
    agent: Agent,
    log: str,
    file: LogFile,
    *,
    offset: int = 0,
    length: int | None = None,
    pid: int | None = None,
) -> Stream:
    """A stream of `Data` over exactly that file, whatever its name is by now."""
    return agent.open(
        "read_log", path=log, dev=file.dev, ino=file.ino, pid=pid, offset=offset, length=length
    )


async def read_log_file(
    agent: Agent, log: str, file: LogFile, *, offset: int, length: int, pid: int | None = None
) -> bytes:
    """A few bytes of that file. Raises OperationError "not-found" when it is gone."""
    _, data = await agent.fetch(
        "read_log", path=log, dev=file.dev, ino=file.ino, pid=pid, offset=offset, length=length
    )
    return data


def _decode(value: dict[str, Any]) -> LogFile:
    tails = {int(size): mark for size, mark in value["tails"].items()}
    tails[value["size"]] = value["tail"]
    return LogFile(**{**value, "tails": tails})
