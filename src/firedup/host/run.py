"""Runs on a host, typed: list them, watch one to its end, read its samples."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import msgspec

from firedup.core.error import HostError
from firedup.core.event import Exited, KeeperGone, LogChanged, Sample
from firedup.host.base import OperationError
from firedup.host.file import follow_log, read_file, stat_file
from firedup.host.launch import Identity
from firedup.host.link import Agent
from firedup.host.manifest import Manifest, decode_manifest
from firedup.host.process import decode_sample
from firedup.host.stream import Notice

_TAIL_BYTES = 1024 * 1024  # longer than any sample's line


@dataclass(frozen=True, slots=True)
class ServerExit:
    """What exit.json says beyond the core's event. `error` is set when the launch failed."""

    event: Exited
    error: str | None
    survivors: tuple[Identity, ...]


@dataclass(frozen=True, slots=True)
class RunState:
    """A run as its folder and /proc show it now. `manifest` is None when it is damaged."""

    id: str
    folder: str
    manifest: Manifest | None
    log_start: int
    server: Identity | None
    keeper: Identity | None
    exit: ServerExit | None
    is_server_alive: bool
    is_keeper_alive: bool

    @property
    def is_unkept(self) -> bool:
        """The server lives and its keeper does not."""
        return self.is_server_alive and not self.is_keeper_alive


async def list_runs(
    agent: Agent, *, ids: tuple[str, ...] | None = None, timeout_s: float = 60.0
) -> tuple[RunState, ...]:
    """The runs on this host, oldest first; only those in `ids` when given."""
    stream = agent.open("runs", ids=list(ids) if ids is not None else None)
    try:
        async with asyncio.timeout(timeout_s):
            found = [_decode_run(m.value) async for m in stream if isinstance(m, Notice)]
    except TimeoutError as error:
        what = f"{agent.host.name}: the runs were not listed within {timeout_s:g} s"
        raise HostError(what) from error
    finally:
        stream.close()
    return tuple(found)


async def find_run(agent: Agent, run_id: str) -> RunState:
    """One run. Raises OperationError "not-found"."""
    found = await list_runs(agent, ids=(run_id,))
    if not found:
        where = agent.host.name
        raise OperationError("not-found", f"there is no run {run_id}", where=where, evidence=None)
    return found[0]


async def watch_run(agent: Agent, run_id: str) -> AsyncGenerator[KeeperGone | ServerExit, None]:
    """Waits for the end of a run's server; a lost keeper is told before. Ends after the exit."""
    stream = agent.open("watch_run", run=run_id)
    try:
        async for message in stream:
            if not isinstance(message, Notice):
                continue
            if message.value["type"] == "keeper-gone":
                yield KeeperGone(message.value["at_ns"])
            else:
                yield decode_exit(message.value)
    finally:
        stream.close()


def decode_exit(value: dict[str, Any]) -> ServerExit:
    """From the JSON object in exit.json."""
    ticks = value.get("survivors_start_ticks", [])
    survivors = tuple(Identity(p, t) for p, t in zip(value["survivors"], ticks, strict=False))
    return ServerExit(msgspec.convert(value, Exited), value.get("error"), survivors)


def _decode_end(value: dict[str, Any] | None) -> ServerExit | None:
    """None for an exit.json that is not there, or damaged."""
    try:
        return decode_exit(value) if value else None
    except msgspec.ValidationError:
        return None


async def follow_samples(
    agent: Agent, folder: str, *, since_ns: int = 0
) -> AsyncGenerator[Sample, None]:
    """The keeper's samples later than `since_ns` (host boottime), the recorded ones and new ones.

    Never ends by itself: cancel it when the run is over.
    """
    old = f"{folder}/samples.1.jsonl"
    if await _may_hold(agent, old, since_ns):
        for line in (await read_file(agent, old)).splitlines():
            sample = _decode_line(line)
            if sample is not None and sample.at_ns > since_ns:
                yield sample
    rest = b""
    with closing(follow_log(agent, f"{folder}/samples.jsonl")) as reader:
        async for event in reader:
            if isinstance(event, LogChanged):
                rest = b"" if event.state in ("rotated", "truncated", "gap") else rest
                continue
            *lines, rest = (rest + event.data).split(b"\n")
            for line in lines:
                sample = _decode_line(line)
                if sample is not None and sample.at_ns > since_ns:
                    yield sample


async def _may_hold(agent: Agent, path: str, since_ns: int) -> bool:
    """Whether the file's last sample is later than `since_ns`."""
    if await stat_file(agent, path) is None:
        return False
    last = await _read_last(agent, path)
    return last is None or last.at_ns > since_ns


async def read_last_sample(agent: Agent, folder: str) -> Sample | None:
    """The keeper's newest sample; None where that is not whole, or just begins a new file."""
    return await _read_last(agent, f"{folder}/samples.jsonl")


async def _read_last(agent: Agent, path: str) -> Sample | None:
    facts = await stat_file(agent, path)
    if facts is None:
        return None
    tail = await read_file(agent, path, offset=max(0, facts.size - _TAIL_BYTES))
    lines = tail.splitlines()
    return _decode_line(lines[-1]) if lines else None


def _decode_line(line: bytes) -> Sample | None:
    """None for a line that was cut off when the disk was full."""
    try:
        return decode_sample(json.loads(line))
    except (ValueError, msgspec.ValidationError):
        return None


def _decode_run(value: dict[str, Any]) -> RunState:
    try:
        manifest = decode_manifest(value["manifest"])
    except msgspec.ValidationError:
        manifest = None
    keeper = value["keeper"]
    server = keeper["server"] if keeper else None
    return RunState(
        id=value["id"],
        folder=value["folder"],
        manifest=manifest,
        log_start=keeper.get("log_start", 0) if keeper else 0,
        server=Identity(server["pid"], server["start_ticks"]) if server else None,
        keeper=Identity(keeper["pid"], keeper["start_ticks"]) if keeper else None,
        exit=_decode_end(value["exit"]),
        is_server_alive=value["is_server_alive"],
        is_keeper_alive=value["is_keeper_alive"],
    )
