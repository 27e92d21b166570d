"""Where a checkpoint lies and how it is read there: in this process, or by a host's agent."""

from __future__ import annotations

import asyncio
import json
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from firedup.core.error import UsageError
from firedup.drafter.checkpoint import Checkpoint, Tensor
from firedup.drafter.decode import decode_checkpoint
from firedup.host.agent.checkpoint import describe_checkpoint
from firedup.host.agent.slices import read_slices, read_tokens
from firedup.host.agent.system import AgentError
from firedup.host.base import OperationError
from firedup.host.link import Agent

READ_TIMEOUT_S = 300.0  # headers of many files, on a file system that may be slow
_MOST_BYTES = 64 << 20
_HUB_VARIABLES = ("HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "XDG_CACHE_HOME")
Range = tuple[Tensor, int, int, int]  # tensor, first byte within it, bytes, bytes of an item


class Place(Protocol):
    """A machine on which checkpoints lie."""

    name: str

    async def describe(self, path: str) -> Checkpoint:
        """The checkpoint at `path`. UsageError when there is none."""

    async def slices(self, path: str, ranges: Sequence[Range]) -> list[bytes | None]:
        """The bytes of each range, None for one that cannot be read."""

    async def tokens(self, path: str, ids: Sequence[int]) -> dict[int, str]:
        """The texts of tokens by their ids."""


class Here:
    """This machine, in this process.

    Relative paths are from `base`; `env` says where the cache of the hub is, beside the process's
    own variables.
    """

    name = ""

    def __init__(self, base: str = "", env: Mapping[str, str] | None = None) -> None:
        self._base = base
        self._env = _hub_variables(env or {})
        self._found: dict[str, str] = {}  # path as it was named → where it lies

    async def describe(self, path: str) -> Checkpoint:
        """The checkpoint at `path`."""
        try:
            told = await asyncio.to_thread(
                describe_checkpoint, path, base=self._base, env=self._env
            )
        except AgentError as error:
            raise _none_there("", error.what) from error
        self._found[path] = told["path"]
        return decode_checkpoint(told, path)

    async def slices(self, path: str, ranges: Sequence[Range]) -> list[bytes | None]:
        """The bytes of each range."""
        place = self._found.get(path, path)
        data, flaws = await asyncio.to_thread(read_slices, place, _wire(ranges))
        return _cut(data, ranges, flaws)

    async def tokens(self, path: str, ids: Sequence[int]) -> dict[int, str]:
        """The texts of tokens by their ids."""
        found = await asyncio.to_thread(read_tokens, self._found.get(path, path), list(ids))
        return dict(found)


class There:
    """A host, by way of its agent; `base` and `env` as for Here, on that host."""

    def __init__(self, agent: Agent, base: str = "", env: Mapping[str, str] | None = None) -> None:
        self._agent = agent
        self._from = {"base": base, "env": _hub_variables(env or {})}
        self._found: dict[str, str] = {}  # path as it was named → where it lies
        self.name = "" if agent.host.is_local else agent.host.name

    async def describe(self, path: str) -> Checkpoint:
        """The checkpoint at `path` there."""
        try:
            told, data = await self._agent.fetch(
                "checkpoint", path=path, timeout_s=READ_TIMEOUT_S, **self._from
            )
        except OperationError as error:
            if error.code not in ("not-found", "denied"):
                raise
            raise _none_there(self.name, error.what) from error
        found = json.loads(_inflate(data, told["size"]))
        self._found[path] = found["path"]
        return decode_checkpoint(found, path, self.name)

    async def slices(self, path: str, ranges: Sequence[Range]) -> list[bytes | None]:
        """The bytes of each range."""
        told, data = await self._agent.fetch(
            "slices",
            path=self._found.get(path, path),
            ranges=_wire(ranges),
            timeout_s=READ_TIMEOUT_S,
        )
        return _cut(_inflate(data, told["size"]), ranges, told["flaws"])

    async def tokens(self, path: str, ids: Sequence[int]) -> dict[int, str]:
        """The texts of tokens by their ids."""
        told = await self._agent.call("tokens", path=self._found.get(path, path), ids=list(ids))
        return dict(told["tokens"])


def _hub_variables(env: Mapping[str, str]) -> dict[str, str]:
    """Those of a launch that say where the cache of the hub is; no others cross the link."""
    return {name: env[name] for name in _HUB_VARIABLES if name in env}


def _none_there(host: str, what: str) -> UsageError:
    return UsageError(
        f"{what}{f' on {host}' if host else ''}",
        todo="Give the folder or file of the checkpoint; on another host as HOST:/path.",
    )


def _inflate(data: bytes, size: int) -> bytes:
    if not 0 <= size <= _MOST_BYTES:
        raise ValueError(f"{size:,} bytes were announced")
    return zlib.decompressobj().decompress(data, max(1, size))


def _wire(ranges: Sequence[Range]) -> list[list[Any]]:
    return [[tensor.file, tensor.begin + first, size, w] for tensor, first, size, w in ranges]


def _cut(data: bytes, ranges: Sequence[Range], flaws: Sequence[Any]) -> list[bytes | None]:
    """The bytes of each range in their order; they came in planes, one per byte of an item."""
    unread, at = {number for number, _ in flaws}, 0
    found: list[bytes | None] = []
    for number, (_, _, size, width) in enumerate(ranges):
        planes, at = data[at : at + size], at + size
        if number in unread or len(planes) < size:
            found.append(None)
            continue
        if width > 1:
            mixed, count = bytearray(size), size // width
            for byte in range(width):
                mixed[byte::width] = planes[byte * count : (byte + 1) * count]
            planes = bytes(mixed)
        found.append(planes)
    return found
