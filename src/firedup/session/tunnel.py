"""A port of this machine that leads to a server on a host, a run's for as long as that lives."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass

from firedup.core.error import HostError, UsageError
from firedup.core.event import Exited
from firedup.host.base import OperationError, SilenceError
from firedup.host.link import Agent
from firedup.host.process import sample_tree
from firedup.host.run import ServerExit, watch_run
from firedup.host.tunnel import carry_connection
from firedup.probe.target import address_of
from firedup.session.linked import LinkSpeaker, Patience, give_up, run_linked
from firedup.session.registry import Run

LOOPBACK = "127.0.0.1"
# A client that connects while the link is down is kept waiting for so long.
LINK_WAIT_S = 20.0


@dataclass(frozen=True, slots=True)
class Place:
    """Where a server listens, as its host understands it."""

    address: str
    port: int
    has_tls: bool = False


@dataclass(frozen=True, slots=True)
class Opened:
    """Where the tunnel listens here, and where it leads to on the host."""

    address: str
    port: int
    server_address: str
    server_port: int
    has_tls: bool

    @property
    def url(self) -> str:
        """What clients are given."""
        host = f"[{self.address}]" if ":" in self.address else self.address
        return f"{'https' if self.has_tls else 'http'}://{host}:{self.port}"


async def find_port(agent: Agent, run: Run) -> int:
    """The port of the server of `run`: what its command names, else the one at which it listens.

    UsageError when it has ended, or when it listens at none or at several.
    """
    label = run.label
    if not run.is_alive:
        raise _say_ended(run)
    if run.spec.port is not None:
        return run.spec.port
    ports = await _list_ports(agent, run)
    if len(ports) == 1:
        return ports[0]
    host = "" if agent.host.is_local else f" --host {shlex.quote(agent.host.name)}"
    listed = ", ".join(map(str, ports)) or "no port yet"
    raise UsageError(
        f"the command of {label.name} names no port to lead to",
        why=f"its processes listen at {listed}",
        todo=f"Say which: firedup tunnel {shlex.quote(label.name)}{host} --to PORT",
    )


def place_of(run: Run, port: int) -> Place:
    """Where `port` of the server of `run` is asked on its host. UsageError when it has ended."""
    if not run.is_alive:
        raise _say_ended(run)
    return Place(address_of(run.spec), port, run.spec.has_tls)


def _say_ended(run: Run) -> UsageError:
    return UsageError(f"{run.label.name} ({run.label.id}) has ended")


async def _list_ports(agent: Agent, run: Run) -> tuple[int, ...]:
    """The ports at which a process of the server listens now."""
    server = run.state.server
    if server is None:
        return ()
    try:
        sample = await sample_tree(agent, server.pid, start_ticks=server.start_ticks)
    except OperationError as error:
        if error.code != "gone":
            raise
        return ()
    return sample.ports


class Tunnel:
    """Carries connections to a server at `place`, through one agent after the other.

    `run_id` is its run, with which the tunnel ends; without one it stays open. `say` is told what
    becomes of the link, and why connections fail.
    """

    def __init__(
        self, agent: Agent, place: Place, *, say: Callable[[str], None], run_id: str | None = None
    ) -> None:
        self._agent = agent
        self._place = place
        self._run_id = run_id
        self._say = say
        self._speaker = LinkSpeaker(say)
        self._is_up = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._end: Exited | None = None
        self._told: str | None = None

    async def run(
        self, *, bind: str, port: int | None, tell: Callable[[Opened], None], patience: Patience
    ) -> Exited | None:
        """Listen until the server has ended; how it did, None where nobody knows.

        `port` None takes the server's own where that is free here, else any. `tell` is called once
        it listens. UsageError when it cannot, LinkError when the host was given up.
        """
        listener = await self._listen(bind, port)
        try:
            here, far = listener.sockets[0].getsockname(), self._place
            tell(Opened(here[0], here[1], far.address, far.port, far.has_tls))
            if not await run_linked(self._agent, self._wait_end, self, patience):
                raise give_up(self._agent, patience)
        finally:
            listener.close()
            for task in self._tasks:
                task.cancel()
            if self._tasks:
                await asyncio.wait(self._tasks)
        return self._end

    async def link_up(self, agent: Agent) -> None:
        """The link was renewed."""
        await self._speaker.link_up(agent)

    def link_down(self, error: HostError, pause_s: float | None) -> None:
        """Connections end with the link that carried them; new ones wait for the next."""
        self._speaker.link_down(error, pause_s)
        self._is_up.clear()

    def file_silent(self, error: SilenceError) -> None:
        """The run folder does not answer; connections go on."""
        self._speaker.file_silent(error)

    async def _listen(self, bind: str, port: int | None) -> asyncio.Server:
        wanted = (self._place.port, 0) if port is None else (port,)
        for number in wanted:
            try:
                return await asyncio.start_server(self._carry, bind, number)
            except OSError as error:
                if number != wanted[-1]:
                    continue
                raise UsageError(
                    f"port {number} of {bind} cannot be listened at",
                    why=error.strerror,
                    todo="Without --port a free one is taken.",
                ) from error
        raise AssertionError("unreachable")

    async def _wait_end(self, agent: Agent) -> None:
        self._agent = agent
        self._is_up.set()
        if self._run_id is None:
            await agent.wait_broken()
        async with aclosing(watch_run(agent, self._run_id)) as ends:
            async for end in ends:
                if isinstance(end, ServerExit):
                    self._end = end.event

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - this runs in it
        self._tasks.add(task)
        try:
            async with asyncio.timeout(LINK_WAIT_S):
                await self._is_up.wait()
            place = self._place
            await carry_connection(self._agent, place.address, place.port, reader, writer)
            self._told = None
        except OperationError as error:
            self._tell_once(error.what)
            writer.transport.abort()
        except (HostError, OSError, TimeoutError):
            writer.transport.abort()
        except asyncio.CancelledError:
            # By `run` at its end; Python 3.11 prints a traceback for a cancelled handler.
            writer.transport.abort()
        finally:
            writer.close()
            self._tasks.discard(task)

    def _tell_once(self, what: str) -> None:
        """Clients try again and again, and it is the same each time."""
        if self._told != what:
            self._told = what
            self._say(what)
