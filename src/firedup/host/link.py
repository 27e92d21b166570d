"""Starts an agent through a host's prefix and talks frames with it."""

from __future__ import annotations

import asyncio
import secrets
import shlex
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

from firedup.core.error import HostError
from firedup.host.agent.boot import BOOT
from firedup.host.base import Host, OperationError
from firedup.host.bundle import Bundle, load_bundle
from firedup.host.frame import (
    Data,
    FrameDecoder,
    FrameError,
    decode_json,
    encode_request,
)
from firedup.host.stream import Stream

BANNER_LIMIT = 65536
WINDOW_BYTES = 1024 * 1024
CALL_TIMEOUT_S = 30.0
_STDERR_LIMIT = 8192
_LINGER_S = 0.5  # for the last words on stderr after stdout ended
_CLOSE_S = 3.0


class _Protocol(asyncio.SubprocessProtocol):
    """The agent's process: drops what precedes the marker, hands frames to their streams."""

    def __init__(self, host: Host, marker: bytes, command: tuple[str, ...]) -> None:
        self.host = host
        self.command = command
        self.streams: dict[int, Stream] = {}
        self.hello: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self.ended: asyncio.Future[HostError] = asyncio.get_running_loop().create_future()
        # A start that was given up leaves this future to nobody.
        self.hello.add_done_callback(lambda hello: hello.cancelled() or hello.exception())
        self.closed = asyncio.Event()
        self._marker = marker
        self._banner = b""
        self._stderr = b""
        self._has_begun = False
        self._decoder = FrameDecoder()
        self._transport: asyncio.SubprocessTransport | None = None
        self._is_leaving = False

    # ---- called by the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.SubprocessTransport, transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 2:
            self._stderr = (self._stderr + data)[-_STDERR_LIMIT:]
            return
        if not self._has_begun:
            self._banner += data
            head, found, data = self._banner.partition(self._marker)
            if not found:
                if len(self._banner) > BANNER_LIMIT + len(self._marker):
                    self._fail("the host talks, but not as the agent")
                return
            self._banner = head
            self._has_begun = True
        try:
            for frame in self._decoder.feed(data):
                if frame.stream == 0:
                    if not self.hello.done():
                        self.hello.set_result(decode_json(frame.payload))
                elif frame.stream in self.streams and self.streams[frame.stream].accept(frame):
                    del self.streams[frame.stream]
        except FrameError as error:
            self._fail(f"the agent sent {error}")

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:  # noqa: ARG002
        if fd == 1:
            asyncio.get_running_loop().call_later(_LINGER_S, self._end)

    def process_exited(self) -> None:
        asyncio.get_running_loop().call_later(_LINGER_S, self._end)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self._end()
        self.closed.set()

    # ---- called by the client

    def send(self, data: bytes) -> None:
        """Queues bytes for the agent; after its end they go nowhere."""
        pipe = self._transport.get_pipe_transport(0) if self._transport else None
        if pipe is not None and not pipe.is_closing():
            cast(asyncio.WriteTransport, pipe).write(data)

    async def leave(self) -> None:
        """Closes stdin, which ends the agent; kills what does not heed that."""
        self._is_leaving = True
        if self._transport is None:
            return
        pipe = self._transport.get_pipe_transport(0)
        if pipe is not None:
            pipe.close()
        try:
            # Only an agent heeds the end of its stdin.
            async with asyncio.timeout(_CLOSE_S if self._has_begun else 0.1):
                await asyncio.shield(self.ended)
        except TimeoutError:
            pass
        finally:
            self._transport.close()  # kills what still runs
        try:
            async with asyncio.timeout(_CLOSE_S):
                await self.closed.wait()
        except TimeoutError:
            pass

    # ---- ends

    def _end(self) -> None:
        self._fail("the agent ended" if self._has_begun else "the agent did not start")

    def _fail(self, what: str) -> None:
        if self.ended.done():
            return
        error = self._describe(what)
        self.ended.set_result(error)
        if not self.hello.done():
            self.hello.set_exception(error)
        for stream in self.streams.values():
            stream.fail(error)
        self.streams.clear()
        if self._transport is not None and not self._is_leaving:
            self._transport.close()

    def _describe(self, what: str) -> HostError:
        status = self._transport.get_returncode() if self._transport else None
        shown = {"stderr": self._stderr}
        if not self._has_begun:
            shown["printed before the agent"] = self._banner
        evidence = [
            f"{name}: {text.decode('utf-8', 'replace').strip()[-2000:]}"
            for name, text in shown.items()
            if text.strip()
        ]
        why = todo = None
        if status is not None:
            why = f"killed by signal {-status}" if status < 0 else f"exit status {status}"
        if status in (126, 127) and not self._has_begun:
            todo = f"Install Python 3.6 or newer on {self.host.name}, as {self.host.python}."
        return HostError(
            f"{self.host.name}: {what}",
            where=shlex.join(self.host.command((self.host.python, "…"))),
            evidence="\n  ".join(evidence) or None,
            why=why,
            todo=todo,
        )

    def explain(self, error: dict[str, Any]) -> HostError:
        """The error for a request that the agent answered with one."""
        return OperationError(
            error["code"], error["what"], where=self.host.name, evidence=error.get("evidence")
        )


class Agent:
    """The agent on a host, as long as its link lives. Made by `open_agent`."""

    def __init__(self, host: Host, hello: dict[str, Any], protocol: _Protocol) -> None:
        self.host = host
        self.hello = hello
        self._protocol = protocol
        self._last = 0

    @property
    def is_alive(self) -> bool:
        """Whether the link still stands, as far as is known."""
        return not self._protocol.ended.done()

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

    async def fetch(
        self, op: str, *, timeout_s: float = CALL_TIMEOUT_S, **args: Any
    ) -> tuple[dict[str, Any], bytes]:
        """One request with its result and the bytes that came with it.

        Raises OperationError when it failed, HostError when there was no answer in time.
        """
        stream = self.open(op, **args)
        try:
            async with asyncio.timeout(timeout_s):
                pieces = [m.data async for m in stream if isinstance(m, Data)]
        except TimeoutError as error:
            what = f"{self.host.name}: no answer to {op!r} within {timeout_s:g} s"
            raise HostError(what, where=self.host.name) from error
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
    host: Host, *, start_timeout_s: float = 30.0, bundle: Bundle | None = None
) -> AsyncIterator[Agent]:
    """Starts an agent on `host` and ends it afterwards.

    Raises HostError when it does not start: no interpreter, no contact, another program talks.
    """
    program = bundle or load_bundle()
    marker = f"firedup-{secrets.token_hex(16)}\n"
    size = str(len(program.text))
    python = (host.python, "-I", "-S", "-u", "-c", BOOT, marker.strip(), size, "serve")
    command = host.command(python)
    loop = asyncio.get_running_loop()
    try:
        _, protocol = await loop.subprocess_exec(
            lambda: _Protocol(host, marker.encode("ascii"), command),
            *command,
            start_new_session=True,
        )
    except OSError as error:
        raise HostError(
            f"{host.name}: {command[0]} cannot be started",
            where=shlex.join(host.command((host.python, "…"))),
            why=error.strerror,
            todo=f"Install Python 3.6 or newer as {host.python}." if host.is_local else None,
        ) from error
    try:
        protocol.send(program.text)
        try:
            async with asyncio.timeout(start_timeout_s):
                hello = await asyncio.shield(protocol.hello)
        except TimeoutError as error:
            what = f"{host.name}: the agent did not start within {start_timeout_s:g} s"
            raise HostError(what, where=shlex.join(command[:2])) from error
        if hello["version"] != program.version:
            raise HostError(
                f"{host.name}: the agent is not the one that was sent",
                evidence=f"version {hello['version']}, expected {program.version}",
            )
        yield Agent(host, hello, protocol)
    finally:
        await protocol.leave()
