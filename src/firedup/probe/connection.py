"""One connection to a server: stamps bytes on receipt and hands them to their exchange."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import monotonic_ns
from typing import cast

from firedup.probe.exchange import BATCH_BYTES, Exchange
from firedup.probe.parser import PARSER_ERRORS, make_parser

_BUFFER_BYTES = 64 * 2**10
_LONGEST_HEAD = 256 * 2**10
_CLOSED = "the server closed the connection"


def make_memory() -> memoryview:
    """Memory that connections receive into."""
    return memoryview(bytearray(_BUFFER_BYTES))


def _drop(data: bytes) -> None:
    """Parts of an answer that nobody asked for."""


class Connection(asyncio.BufferedProtocol):
    """Carries one exchange after the other. `is_reusable` between two of them.

    `memory` is where bytes are received. Connections of one loop share it, since what came is taken
    out of it before the loop turns to another one; it then stays in the processor's cache.
    """

    def __init__(self, memory: memoryview, *, has_own_parser: bool = False) -> None:
        self._has_own_parser = has_own_parser
        self.on_body: Callable[[bytes], None] = _drop  # what the parser calls for each part
        self._parser = make_parser(self, own=has_own_parser)
        self._memory = memory
        self._transport: asyncio.Transport | None = None
        self._exchange: Exchange | None = None
        self._done: asyncio.Future[str | None] | None = None
        self._now = 0
        self._headers: dict[str, str] = {}
        self._head_bytes = 0
        self._has_head = False
        self._has_end = False  # the head says where the body ends
        self.is_reusable = False
        self.answers = 0
        self.is_unanswered = False  # not one byte has come for the newest request
        self._was_closed_here = False
        self._was_lost = False

    def send(self, request: bytes, exchange: Exchange) -> asyncio.Future[str | None]:
        """Send `request`, fill `exchange` with its answer, and tell when that is over.

        One at a time. The result says what broke the connection meanwhile, None if nothing did. An
        exchange that is given up leaves the connection useless: `close` it.
        """
        self._done = asyncio.get_running_loop().create_future()
        self.is_unanswered = True
        if self._transport is None or self._transport.is_closing():
            self.is_reusable, self._was_lost = False, True
            self._done.set_result(_CLOSED)
            return self._done
        self._exchange = exchange
        # A new parser is cheap, and calls the method of the list that keeps the parts itself.
        self.on_body = exchange.parts.append
        self._parser = make_parser(self, own=self._has_own_parser)
        self._headers, self._head_bytes = {}, 0
        self._has_head = self._has_end = self.is_reusable = False
        self._transport.write(request)
        return self._done

    def give_up(self, why: str) -> None:
        """End the exchange under way, for that reason."""
        self._was_closed_here = True
        self._end(why)

    @property
    def is_stale(self) -> bool:
        """Whether the server closed it before it answered: the request may be sent anew."""
        return self.is_unanswered and self._was_lost and not self._was_closed_here

    def close(self) -> None:
        """Close it at once, whatever is under way."""
        self.is_reusable, self._was_closed_here = False, True
        if self._transport is not None:
            self._transport.abort()

    # What the event loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """There is a connection."""
        self._transport = cast("asyncio.Transport", transport)
        self.is_reusable = True

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - the same one always
        """Where the next bytes go: reading into memory that is there spares one allocation."""
        return self._memory

    def buffer_updated(self, nbytes: int) -> None:
        """Bytes came: stamp them once, whatever they hold."""
        now = self._now = monotonic_ns()
        if not self._has_head:
            self._begin_head(nbytes)
        try:
            self._parser.feed_data(self._memory[:nbytes])
        except PARSER_ERRORS as error:
            began = bytes(self._memory[: min(nbytes, 40)]).decode("latin-1")
            shown = "" if self._has_head else f"; it begins with {began!r}"
            if self._exchange is not None:
                self._exchange.mark(now, nbytes)  # good parts may have come before the bad one
            self._end(f"the answer is no HTTP/1.1 ({error}){shown}")
            return
        exchange = self._exchange
        if exchange is not None:
            # `Exchange.mark` without the call, for this happens with every event.
            stamps = exchange.stamps
            stamps.append(now)
            if len(stamps) != len(exchange.parts):
                exchange.align(now)
            exchange.size += nbytes
            if exchange.size >= BATCH_BYTES and not exchange.look():
                self._end(exchange.problem)

    def _begin_head(self, nbytes: int) -> None:
        self.is_unanswered = False
        self._head_bytes += nbytes
        if self._exchange is None:
            self.close()  # a server that speaks unasked is not one to ask again
        elif self._head_bytes > _LONGEST_HEAD + _BUFFER_BYTES:
            self._end("the answer's head is too long")

    def eof_received(self) -> bool:
        """The server sends no more; half-open connections are of no use here."""
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone, which ends bodies of unsaid length in a good way."""
        self.is_reusable, self._was_lost = False, True
        if exc is None and self._has_head and not self._has_end:
            self._end(None)
        else:
            why = f" ({exc.strerror or exc})" if isinstance(exc, OSError) else ""
            self._end(f"{_CLOSED}{why}")
        self._transport = None

    # What the parser calls.

    def on_header(self, name: bytes, value: bytes) -> None:
        """A line of the head."""
        key = name.decode("latin-1").lower()
        self._headers[key] = value.decode("latin-1").strip()

    def on_headers_complete(self) -> None:
        """The head is complete."""
        status = self._parser.get_status_code()
        if self._exchange is None or status < 200:
            self._headers = {}  # of an interim answer, or one that nobody asked for
            return
        self._has_head = True
        self._has_end = "content-length" in self._headers or "transfer-encoding" in self._headers
        self._exchange.start(status, self._headers)

    def on_message_complete(self) -> None:
        """The answer is complete."""
        if not self._has_head:
            return  # an interim answer
        if self._exchange is not None:
            self._exchange.mark(self._now, 0)
        self.answers += 1
        self.is_reusable = self._parser.should_keep_alive()
        self._end(None)

    def on_message_begin(self) -> None:
        """An answer begins; one that nobody asked for means that the two sides are out of step."""
        if self._exchange is None:
            self.close()

    def _end(self, problem: str | None) -> None:
        self._exchange, self._has_head = None, False
        if problem is not None or not self.is_reusable:
            self.is_reusable = False
            if self._transport is not None:
                self._transport.abort()
        if self._done is not None and not self._done.done():
            self._done.set_result(problem)
