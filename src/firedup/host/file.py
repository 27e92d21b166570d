"""Files on a host, typed: read, write, append, and follow a log into core events."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from firedup.core.event import LogChanged, LogData
from firedup.host.base import OperationError
from firedup.host.frame import Data
from firedup.host.link import WINDOW_BYTES, Agent
from firedup.host.stream import Stream

TAIL_BYTES = 256


@dataclass(frozen=True, slots=True)
class LogPosition:
    """How far a log has been read, and how to know the place again.

    `tail` are the up to 256 bytes before `offset`; `dev` and `ino` name the file itself, which the
    process `pid` may still write to after it lost its name.
    """

    generation: int = 0
    offset: int = 0
    tail: bytes = b""
    dev: int | None = None
    ino: int | None = None
    pid: int | None = None


@dataclass(frozen=True, slots=True)
class Silence:
    """The file at `path` on `host` has not answered for `seconds`; it does again if `is_over`."""

    host: str
    path: str
    seconds: float
    is_over: bool = False

    def __str__(self) -> str:
        file = f"the file {self.path} on {self.host}"
        if self.is_over:
            return f"{file} answers again, after {self.seconds:.0f} s"
        return f"{file} does not answer since {self.seconds:.0f} s (network file system?)"


class LogReader:
    """Iterates over what is new in a log, for ever; `position` is after the last event given out.

    Raises OperationError when the log cannot be read, HostError when the link is lost: then a new
    reader with this one's `position` goes on at the exact byte. `close` it at the end. `heed` is
    told when the log's file system does not answer, and when it does again.
    """

    def __init__(
        self,
        agent: Agent,
        path: str,
        position: LogPosition,
        window: int,
        heed: Callable[[Silence], None],
    ) -> None:
        self.position = position
        self._host = agent.host.name
        self._heed = heed
        self._stream = agent.open(
            "follow",
            window=window,
            path=path,
            generation=position.generation,
            offset=position.offset,
            tail=base64.b64encode(position.tail).decode("ascii"),
            dev=position.dev,
            ino=position.ino,
            pid=position.pid,
        )

    @property
    def waiting_bytes(self) -> int:
        """How much of the log has arrived and was not taken yet: at most the window and a frame."""
        return self._stream.waiting_bytes

    def __aiter__(self) -> LogReader:
        return self

    async def __anext__(self) -> LogData | LogChanged:
        while True:
            message = await self._stream.__anext__()
            if isinstance(message, Data):
                return self._take_data(message)
            if message.value["state"] in ("unanswered", "answered"):
                self._heed(self._silence(message.value))
                continue
            event = self._take_change(message.value)
            if event is not None:
                return event

    def _take_data(self, message: Data) -> LogData:
        position = self.position
        is_next = message.offset == position.offset
        past = position.tail if is_next else b""  # a hole was passed over
        self.position = replace(
            position,
            offset=message.offset + len(message.data),
            tail=(past + message.data[-TAIL_BYTES:])[-TAIL_BYTES:],
        )
        return LogData(message.at_ns, message.generation, message.offset, message.data)

    def _silence(self, value: dict[str, Any]) -> Silence:
        is_over = value["state"] == "answered"
        return Silence(self._host, value["path"], value["seconds"], is_over=is_over)

    def _take_change(self, value: dict[str, Any]) -> LogChanged | None:
        before = self.position
        end = tail = None
        if value["generation"] != before.generation:
            self.position = LogPosition(generation=value["generation"], pid=before.pid)
            if before.offset and len(before.tail) == min(TAIL_BYTES, before.offset):
                end, tail = before.offset, zlib.crc32(before.tail)
        if "ino" in value:
            self.position = replace(self.position, dev=value["dev"], ino=value["ino"])
        if value["state"] == "opened":
            return None
        return LogChanged(
            value["at_ns"],
            value["state"],
            value["generation"],
            value.get("lost_bytes"),
            value.get("dev"),
            value.get("ino"),
            end,
            tail,
        )

    def close(self) -> None:
        """Stops following."""
        self._stream.close()


def follow_log(
    agent: Agent,
    path: str,
    position: LogPosition | None = None,
    *,
    window: int = WINDOW_BYTES,
    heed: Callable[[Silence], None] = lambda _: None,
) -> LogReader:
    """Follows the log at `path` (relative paths: to the home) from `position` on.

    The log need not exist yet. At most `window` bytes wait unread on this side. `heed` is told
    when its file system does not answer, and when it does again.
    """
    return LogReader(agent, path, position or LogPosition(), window, heed)


@dataclass(frozen=True, slots=True)
class FileFacts:
    """What a path is. `kind`: file, folder, other."""

    path: str
    kind: str
    size: int
    mode: int
    uid: int
    dev: int
    ino: int
    modified_wall_ns: int
    real_path: str


async def stat_file(agent: Agent, path: str) -> FileFacts | None:
    """The facts about a path, None when it does not exist."""
    try:
        return FileFacts(**await agent.call("stat", path=path))
    except OperationError as error:
        if error.code == "not-found":
            return None
        raise


async def read_file(
    agent: Agent,
    path: str,
    *,
    offset: int = 0,
    length: int | None = None,
    timeout_s: float = 60.0,
) -> bytes:
    """Bytes of a file, all to its present end when `length` is None. For files that fit memory."""
    _, data = await agent.fetch(
        "read", path=path, offset=offset, length=length, timeout_s=timeout_s
    )
    return data


def open_file(agent: Agent, path: str, *, offset: int = 0, length: int | None = None) -> Stream:
    """A stream of `Data` over a file that may be large; `close` it when you stop early."""
    return agent.open("read", path=path, offset=offset, length=length)


async def append_file(agent: Agent, path: str, data: bytes) -> int:
    """Appends in one write and returns the file's size after it; makes the file where missing."""
    result = await agent.call("append", path=path, data=_encode(data))
    return int(result["size"])


async def make_folder(agent: Agent, path: str) -> bool:
    """Makes a folder and its parents, 0700 where new; False when it was there."""
    return bool((await agent.call("mkdir", path=path))["made"])


async def remove_path(agent: Agent, path: str) -> None:
    """Removes a file or a folder with its content; only inside the runs folder."""
    await agent.call("remove", path=path, timeout_s=120.0)


async def find_program(
    agent: Agent, program: str, *, path: str | None = None, cwd: str | None = None
) -> tuple[str | None, str | None]:
    """(file that would be executed or None, a file of that name that is not executable or None).

    `path` replaces the host's PATH.
    """
    result = await agent.call("which", program=program, path=path, cwd=cwd)
    return result["found"], result["unusable"]


@dataclass(frozen=True, slots=True)
class PathFacts:
    """What is at a path and what could be made there.

    `nearest` is the closest folder (or file) above that exists. `file_system` is the kernel's
    name, such as ext4 or nfs4.
    """

    path: str
    exists: bool
    is_link: bool
    is_readable: bool
    is_writable: bool
    nearest: str
    is_nearest_writable: bool
    free_bytes: int
    total_bytes: int
    free_inodes: int
    mount: str
    file_system: str
    file: FileFacts | None


async def check_paths(agent: Agent, paths: tuple[str, ...]) -> tuple[PathFacts, ...]:
    """The facts about several paths, in their order."""
    result = await agent.call("paths", paths=list(paths))
    return tuple(_decode_path(value) for value in result["paths"])


def _decode_path(value: dict[str, Any]) -> PathFacts:
    names = FileFacts.__slots__
    file = FileFacts(**{name: value[name] for name in names}) if "kind" in value else None
    rest = {name: value[name] for name in PathFacts.__slots__ if name != "file"}
    return PathFacts(**rest, file=file)


def _encode(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
