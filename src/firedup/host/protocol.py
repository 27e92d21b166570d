"""The pipes of an agent's process: drops what precedes the marker, hands frames to streams."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any, cast

from firedup.core.error import HostError
from firedup.host.base import Host, LinkError, OperationError, SilenceError, Trouble
from firedup.host.frame import FrameDecoder, FrameError, decode_json
from firedup.host.outcome import describe_outcome, place_of
from firedup.host.stream import Stream

BANNER_LIMIT = 65536
_STDERR_LIMIT = 8192
_LINGER_S = 0.5  # for the last words on stderr after stdout ended
_CLOSE_S = 3.0


class AgentProtocol(asyncio.SubprocessProtocol):
    """The agent's process: drops what precedes the marker, hands frames to their streams."""

    def __init__(self, host: Host, marker: bytes) -> None:
        self.host = host
        self.streams: dict[int, Stream] = {}
        self.hello: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self.ended: asyncio.Future[LinkError] = asyncio.get_running_loop().create_future()
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
        self._heard_s = asyncio.get_running_loop().time()

    # ---- called by the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The process runs."""
        self._transport = cast(asyncio.SubprocessTransport, transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Something came on stdout (1) or stderr (2)."""
        if fd == 2:
            self._stderr = (self._stderr + data)[-_STDERR_LIMIT:]
            return
        self._heard_s = asyncio.get_running_loop().time()
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

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio gives it
        """The process closed a pipe; its last words may still be on their way."""
        if fd == 1:
            asyncio.get_running_loop().call_later(_LINGER_S, self._end)

    def process_exited(self) -> None:
        """The process ended; its last words may still be on their way."""
        asyncio.get_running_loop().call_later(_LINGER_S, self._end)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio gives it
        """The process ended and all its pipes are closed."""
        self._end()
        self.closed.set()

    # ---- called by the client

    def send(self, data: bytes) -> None:
        """Queues bytes for the agent; after its end they go nowhere."""
        pipe = self._transport.get_pipe_transport(0) if self._transport else None
        if pipe is not None and not pipe.is_closing():
            cast(asyncio.WriteTransport, pipe).write(data)

    def silent_s(self) -> float:
        """For how long nothing has come, by this machine's clock while it is awake."""
        return asyncio.get_running_loop().time() - self._heard_s

    @property
    def is_cut_off(self) -> bool:
        """Whether the way to the agent broke, so that nothing on this way is to be trusted."""
        return self.ended.done() and self.ended.result().trouble is Trouble.LINK_DOWN

    def fall_silent(self, silent_s: float) -> None:
        """Give up a link over which nothing comes any more."""
        what = f"{self.host.name}: no sign of life for {silent_s:.0f} s"
        self._close(LinkError(Trouble.LINK_DOWN, what, where=place_of(self.host)))

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
            with contextlib.suppress(TimeoutError):  # waited for, also by a task that is cancelled
                async with asyncio.timeout(_CLOSE_S):
                    await self.closed.wait()

    # ---- ends

    def _end(self) -> None:
        self._fail("the agent ended" if self._has_begun else None)

    def _fail(self, what: str | None) -> None:
        if not self.ended.done():
            self._close(self.describe(what))

    def _close(self, error: LinkError) -> None:
        if self.ended.done():
            return
        self.ended.set_result(error)
        if not self.hello.done():
            self.hello.set_exception(error)
        for stream in self.streams.values():
            stream.fail(error)
        self.streams.clear()
        if self._transport is not None and not self._is_leaving:
            self._transport.close()

    def describe(self, what: str | None) -> LinkError:
        """The error that tells `what` and all that the process left behind.

        `what` None: what kept it from starting.
        """
        return describe_outcome(
            self.host,
            what,
            self._transport.get_returncode() if self._transport else None,
            stderr=self._stderr.decode("utf-8", "replace"),
            banner=None if self._has_begun else self._banner.decode("utf-8", "replace"),
        )

    def explain(self, error: dict[str, Any]) -> HostError:
        """The error for a request that the agent answered with one."""
        if error["code"] == "unanswered":
            path = error.get("evidence") or "?"
            return SilenceError(error["what"], where=self.host.name, path=path)
        return OperationError(
            error["code"], error["what"], where=self.host.name, evidence=error.get("evidence")
        )
