"""Processes on a host, typed: samples, signals, ends, who listens, who holds a file."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import AsyncGenerator, Collection
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any

import msgspec

from firedup.core.event import PortOwner, Sample
from firedup.core.model import Ownership
from firedup.host.base import OperationError
from firedup.host.link import Agent
from firedup.host.stream import Notice

TICKS_PER_S = 100  # in which the kernel tells when a process started
_MARGIN_S = 30.0  # the link's own limit comes last
# Programs that listen for a server which is somewhere else; the kernel keeps 15 letters of a name.
FORWARDERS = frozenset({"docker-proxy", "rootlessport", "rootlesskit", "slirp4netns", "pasta"}) | {
    "pasta.avx2", "conmon", "netavark", "gvproxy", "kubectl", "ssh", "sshd", "sshd-session",
    "com.docker.back", "vpnkit",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ProcessFacts:
    """Who a process is. `argv` is empty and `cwd` None where that may not be read."""

    pid: int
    start_ticks: int
    parent: int
    name: str
    argv: tuple[str, ...]
    cwd: str | None

    @property
    def command(self) -> str:
        """The command line as one would type it."""
        return shlex.join(self.argv) or self.name


@dataclass(frozen=True, slots=True)
class Holder:
    """A process that has a file open. `via` is the pid of a reader such as tee between them."""

    process: ProcessFacts
    is_writing: bool
    via: int | None


@dataclass(frozen=True, slots=True)
class Holders:
    """Writers first. Not `is_complete` when some process could not be looked at."""

    holders: tuple[Holder, ...]
    is_complete: bool


@dataclass(frozen=True, slots=True)
class Listener:
    """A listening TCP socket; `owners` is empty when they may not be looked at."""

    address: str
    port: int
    uid: int
    owners: tuple[ProcessFacts, ...]


@dataclass(frozen=True, slots=True)
class PortFacts:
    """All who listen on a port, on any address. Not `is_complete`: see `Holders`."""

    port: int
    listeners: tuple[Listener, ...]
    is_complete: bool
    at_ns: int

    def judge(self, own: Collection[int], *, bind: str | None = None) -> PortOwner:
        """Whose port it is, for a server with the processes `own` that binds to `bind`.

        Listeners on an address that cannot stand in `bind`'s way do not count. Whom a program that
        passes connections on listens for is not known.
        """
        meant = [one for one in self.listeners if _meets(one.address, bind)]
        for listener in meant:
            for owner in listener.owners:
                if owner.pid in own:
                    return self._say(Ownership.YES, owner)
        foreign = [owner for listener in meant for owner in listener.owners]
        strangers = [owner for owner in foreign if owner.name not in FORWARDERS]
        if strangers:
            return self._say(Ownership.NO, strangers[0])
        if foreign:
            return self._say(Ownership.UNKNOWN, foreign[0])
        return self._say(Ownership.UNKNOWN if meant else None, None)

    def _say(self, owner: Ownership | None, process: ProcessFacts | None) -> PortOwner:
        pid = process.pid if process else None
        return PortOwner(self.at_ns, self.port, owner, pid, process.command if process else None)


def _meets(address: str, bind: str | None) -> bool:
    """Whether a socket on `address` takes the place of one on `bind`."""
    if bind is None or not bind:
        return True
    try:
        one, other = ip_address(address), ip_address(bind)
    except ValueError:  # a host name
        return True
    mapped = getattr(one, "ipv4_mapped", None)
    one = mapped or one
    return one.is_unspecified or other.is_unspecified or one == other


async def fetch_port(agent: Agent, port: int, *, pid: int | None = None) -> PortFacts:
    """Who listens on `port`, in the network name space of `pid` (default: the agent's)."""
    result = await agent.call("port", port=port, pid=pid)
    listeners = tuple(
        Listener(
            value["address"],
            value["port"],
            value["uid"],
            tuple(_decode_process(owner) for owner in value["owners"]),
        )
        for value in result["listeners"]
    )
    return PortFacts(port, listeners, result["is_complete"], result["at_ns"])


async def find_holders(agent: Agent, path: str) -> Holders:
    """The processes that have the file at `path` open, writers first."""
    result = await agent.call("holders", path=path)
    holders = tuple(
        Holder(_decode_process(value), value["is_writing"], value["via"])
        for value in result["holders"]
    )
    return Holders(holders, result["is_complete"])


async def describe_process(agent: Agent, pid: int) -> ProcessFacts:
    """Who a process is. Raises OperationError "gone" when there is none."""
    return _decode_process(await agent.call("process", pid=pid))


async def find_members(
    agent: Agent,
    run_id: str,
    server: tuple[int, int] | None = None,
    keeper: tuple[int, int] | None = None,
) -> tuple[ProcessFacts, ...]:
    """The living processes that a run's server started, orphans included.

    `server` and `keeper`: pid and start ticks; by them those are known that overwrote their
    environment or began a session of their own.
    """
    result = await agent.call(
        "members", run_id=run_id, server=_encode_identity(server), keeper=_encode_identity(keeper)
    )
    return tuple(_decode_process(value) for value in result["processes"])


def _encode_identity(found: tuple[int, int] | None) -> dict[str, int] | None:
    return {"pid": found[0], "start_ticks": found[1]} if found is not None else None


async def send_signal(
    agent: Agent, pid: int, start_ticks: int, signal: str, *, to: str = "main"
) -> tuple[int, ...]:
    """Sends a signal such as SIGTERM to the process, its group or its session.

    Returns the pids that got it. Raises OperationError "gone" when the process is another one.
    """
    result = await agent.call("signal", pid=pid, start_ticks=start_ticks, signal=signal, to=to)
    return tuple(result["signalled"])


async def wait_gone(agent: Agent, pid: int, start_ticks: int, *, timeout_s: float) -> int:
    """Waits until the process is gone and returns when (host boottime, ns).

    Raises OperationError "timeout" when it still lives after `timeout_s`.
    """
    try:
        async with asyncio.timeout(timeout_s):
            result = await agent.call(
                "wait", pid=pid, start_ticks=start_ticks, timeout_s=timeout_s + _MARGIN_S
            )
    except TimeoutError as error:
        what = f"process {pid} still lives after {timeout_s:g} s"
        raise OperationError("timeout", what, where=agent.host.name, evidence=None) from error
    return int(result["at_ns"])


async def sample_tree(
    agent: Agent, pid: int, *, start_ticks: int | None = None, log: str | None = None
) -> Sample:
    """One sample of a process and its descendants. Raises OperationError "gone"."""
    result = await agent.call("tree", pid=pid, start_ticks=start_ticks, log=log)
    return decode_sample(result)


async def watch_tree(
    agent: Agent,
    pid: int,
    start_ticks: int | None = None,
    *,
    every_s: float = 1.0,
    log: str | None = None,
) -> AsyncGenerator[Sample, None]:
    """Samples of a process tree until all of it is gone."""
    stream = agent.open("watch_tree", pid=pid, start_ticks=start_ticks, every_s=every_s, log=log)
    try:
        async for message in stream:
            if isinstance(message, Notice):
                yield decode_sample(message.value)
    finally:
        stream.close()


def decode_sample(value: dict[str, Any]) -> Sample:
    """The core's event from the agent's JSON."""
    return msgspec.convert(value, Sample)


def _decode_process(value: dict[str, Any]) -> ProcessFacts:
    return ProcessFacts(
        value["pid"],
        value["start_ticks"],
        value["parent"],
        value["name"],
        tuple(value["argv"]),
        value["cwd"],
    )
