"""Starts an agent through a host's prefix and talks frames with it."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NoReturn

from firedup.host.agent.boot import BOOT
from firedup.host.base import Host, LinkError, Trouble
from firedup.host.beat import Beat, keep_beating
from firedup.host.bundle import Bundle, load_bundle
from firedup.host.frame import Data, encode_request
from firedup.host.outcome import add_detail, describe_no_client, hides_cause
from firedup.host.protocol import AgentProtocol
from firedup.host.ssh import Ssh
from firedup.host.sshsetup import find_connection, leave_connection, look_closer, settle
from firedup.host.stream import Stream

WINDOW_BYTES = 1024 * 1024
CALL_TIMEOUT_S = 30.0
BEAT = Beat()
# A shared connection that stands answers soon; one that is dead would never.
SHARED_START_S = 10.0


class Agent:
    """The agent on a host, as long as its link lives. Made by `open_agent`."""

    def __init__(self, host: Host, hello: dict[str, Any], protocol: AgentProtocol) -> None:
        self.host = host
        self.hello = hello
        self._protocol = protocol
        self._last = 0

    @property
    def is_alive(self) -> bool:
        """Whether the link still stands, as far as is known."""
        return not self._protocol.ended.done()

    @property
    def silent_s(self) -> float:
        """For how long nothing has come from it, by this machine's clock while it is awake."""
        return self._protocol.silent_s()

    async def wait_broken(self) -> NoReturn:
        """Waits until the link ends, whatever ends it. Raises LinkError with what did."""
        raise await asyncio.shield(self._protocol.ended)

    def open(self, op: str, *, window: int = WINDOW_BYTES, **args: Any) -> Stream:
        """Sends a request whose answer comes in several messages."""
        self._last += 1
        stream = Stream(self._last, window, self._protocol.send, self._protocol.explain)
        if self._protocol.ended.done():
            stream.fail(self._protocol.ended.result())
            return stream
        self._protocol.streams[self._last] = stream
        request = {**args, "op": op, "window": window}
        self._protocol.send(encode_request(self._last, request))
        return stream

    def ask_for_life(self) -> None:
        """Asks something small; that anything comes back is the answer."""
        self.open("clock")

    async def fetch(
        self, op: str, *, timeout_s: float = CALL_TIMEOUT_S, **args: Any
    ) -> tuple[dict[str, Any], bytes]:
        """One request with its result and the bytes that came with it.

        Raises OperationError when it failed, LinkError when nothing of the answer came within
        `timeout_s`; a slow link may take as long as it needs.
        """
        stream, pieces = self.open(op, **args), []
        try:
            async with asyncio.timeout(timeout_s) as limit:
                async for message in stream:
                    limit.reschedule(asyncio.get_running_loop().time() + timeout_s)
                    if isinstance(message, Data):
                        pieces.append(message.data)
        except TimeoutError as error:
            what = f"{self.host.name}: no answer to {op!r} within {timeout_s:g} s"
            raise LinkError(Trouble.LINK_DOWN, what, where=self.host.name) from error
        finally:
            stream.close()
        return stream.result or {}, b"".join(pieces)

    async def call(
        self, op: str, *, timeout_s: float = CALL_TIMEOUT_S, **args: Any
    ) -> dict[str, Any]:
        """One request with one result. Raises as `fetch` does."""
        result, _ = await self.fetch(op, timeout_s=timeout_s, **args)
        return result


@asynccontextmanager
async def open_agent(
    host: Host,
    *,
    start_timeout_s: float = 30.0,
    bundle: Bundle | None = None,
    beat: Beat | None = None,
) -> AsyncIterator[Agent]:
    """Starts an agent on `host` and ends it afterwards.

    Raises LinkError when it does not start: no interpreter, no contact, another program talks.
    """
    program = bundle or load_bundle()
    fitted = await settle(host)
    protocol, hello = await _start(fitted, program, start_timeout_s)
    connection = find_connection(fitted)
    beating: asyncio.Task[None] | None = None
    try:
        if hello["version"] != program.version:
            raise LinkError(
                Trouble.OTHER,
                f"{host.name}: the agent is not the one that was sent",
                evidence=f"version {hello['version']}, expected {program.version}",
            )
        agent = Agent(host, hello, protocol)
        if not host.is_local:
            work = keep_beating(
                beat or BEAT, protocol.silent_s, agent.ask_for_life, protocol.fall_silent
            )
            beating = asyncio.ensure_future(work)
        yield agent
    finally:
        if beating is not None:
            beating.cancel()
            await asyncio.wait([beating])
        await protocol.leave()
        # One that was made since carries others, who are none the worse for what broke before.
        if protocol.is_cut_off and find_connection(fitted) == connection:
            await leave_connection(fitted)


async def _start(
    host: Host, program: Bundle, timeout_s: float
) -> tuple[AgentProtocol, dict[str, Any]]:
    """A new agent and its first words. A shared connection that does not carry it is replaced."""
    first = host.hops[0] if host.hops else None
    if isinstance(first, Ssh) and first.has_connection:
        try:
            return await _start_once(host, program, min(timeout_s, SHARED_START_S))
        except LinkError as error:
            if error.trouble is not Trouble.UNREACHED:
                raise
            await leave_connection(host)
    try:
        return await _start_once(host, program, timeout_s)
    except LinkError as error:
        if not hides_cause(host, error):
            raise
        raise add_detail(host, error, *await look_closer(host)) from error


async def _start_once(
    host: Host, program: Bundle, timeout_s: float
) -> tuple[AgentProtocol, dict[str, Any]]:
    marker = f"firedup-{secrets.token_hex(16)}\n"
    size = str(len(program.text))
    command = host.command(
        (host.python, "-I", "-S", "-u", "-c", BOOT, marker.strip(), size, "serve")
    )
    try:
        _, protocol = await asyncio.get_running_loop().subprocess_exec(
            lambda: AgentProtocol(host, marker.encode("ascii")), *command, start_new_session=True
        )
    except OSError as error:
        raise describe_no_client(host, command[0], error.strerror) from error
    protocol.send(program.text)
    try:
        async with asyncio.timeout(timeout_s):
            return protocol, await asyncio.shield(protocol.hello)
    except TimeoutError as error:
        what = f"no answer within {timeout_s:g} s"
        failure: LinkError = protocol.describe(what)
        await protocol.leave()
        raise failure from error
    except BaseException:
        await protocol.leave()
        raise
