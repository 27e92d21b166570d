"""Asks a server for completions over its own HTTP connections, and measures when they come."""

from __future__ import annotations

import asyncio
import json
import ssl
from dataclasses import dataclass, replace
from time import monotonic_ns
from types import TracebackType
from typing import Self

from firedup.core.measure.measured import Request
from firedup.probe.answered import conclude, explain_status
from firedup.probe.call import Call, make_head
from firedup.probe.connection import Connection, make_memory
from firedup.probe.exchange import Exchange
from firedup.probe.key import ApiKey
from firedup.probe.tls import Trust, explain_failure, make_context
from firedup.probe.url import ServerUrl

_NS = 1_000_000_000
_RACE_S = 0.25


@dataclass(frozen=True, slots=True)
class Limits:
    """How long is waited, in seconds: for a connection, text, further text, and for all of it."""

    connect_s: float = 10.0
    first_s: float = 180.0
    gap_s: float = 60.0
    whole_s: float = 1800.0


@dataclass(frozen=True, slots=True)
class Fetched:
    """The answer of any route. `error` says why there is none, or that its status is not 200."""

    status: int | None
    body: bytes
    error: str | None = None

    @property
    def json(self) -> object:
        """The body as JSON; None when it is none."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            return None


class Client:
    """Keeps connections to one server, as many as there were requests at once.

    Proxies of the environment are not used: a measurement is of the server that was named. What
    goes wrong with one request stands in its result and disturbs no other; the API key stands
    nowhere. `via` is where a tunnel to the server begins, if its own address is not to be
    connected to. Use it with `async with`.
    """

    ahead = 1

    def __init__(
        self,
        url: ServerUrl,
        *,
        key: ApiKey | None = None,
        trust: Trust | None = None,
        limits: Limits | None = None,
        via: tuple[str, int] | None = None,
        has_own_parser: bool = False,
    ) -> None:
        self.url = url
        self.limits = limits or Limits()
        self._key = key
        self._place = via or (url.host, url.port)
        # Of a name's addresses a second one is tried beside the first; one by itself needs no
        # race, which costs more than the connection.
        self._race_s = None if _is_address(self._place[0]) else _RACE_S
        self._tls = make_context(trust or Trust()) if url.has_tls else None
        self._has_own_parser = has_own_parser
        self._memory = make_memory()
        self._idle: list[Connection] = []
        self._busy: set[Connection] = set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections; requests under way end with an error."""
        for connection in (*self._idle, *self._busy):
            connection.close()
        self._idle.clear()

    async def open(self, connections: int) -> None:
        """Open connections beforehand, so that no request of a measurement waits for its own.

        OSError when one cannot be had; its text is fit for people.
        """
        wanted = max(0, connections - len(self._idle))
        self._idle += await asyncio.gather(*(self._connect() for _ in range(wanted)))

    async def complete(self, call: Call) -> Request:
        """Ask for a completion. Never raises for what the server or the network does.

        Cancelling closes the connection, which tells the server to stop generating.
        """
        head = make_head(self.url, "POST", call.path, len(call.body), self._key)
        exchange, begun_ns, problem = await self._exchange(
            head + call.body, self.limits, is_native=call.path.endswith("/generate")
        )
        began_ns = begun_ns if call.due_ns is None else call.due_ns
        request = conclude(call, exchange, began_ns, problem)
        if request.error is not None and self._key is not None:
            request = replace(request, error=self._key.blot(request.error))
        return request

    async def fetch(
        self, path: str, *, method: str = "GET", body: bytes = b"", timeout_s: float = 10.0
    ) -> Fetched:
        """The answer of a route that does not stream, such as metrics."""
        limits = Limits(self.limits.connect_s, timeout_s, timeout_s, timeout_s)
        head = make_head(self.url, method, path, len(body), self._key)
        exchange, _, problem = await self._exchange(head + body, limits, is_native=False)
        exchange.finish()
        error = problem or explain_status(path, exchange) or exchange.problem
        if error is not None and self._key is not None:
            error = self._key.blot(error)
        return Fetched(exchange.status, bytes(exchange.content), error)

    async def _exchange(
        self, request: bytes, limits: Limits, *, is_native: bool
    ) -> tuple[Exchange, int, str | None]:
        """Send and wait; a connection that had gone stale meanwhile is replaced once."""
        while True:
            exchange = Exchange(is_native=is_native)
            begun_ns = monotonic_ns()
            try:
                connection = self._idle_one() or await self._connect()
            except OSError as error:
                return exchange, begun_ns, str(error)
            is_used = connection.answers > 0
            self._busy.add(connection)
            begun_ns = monotonic_ns()
            try:
                problem = await _wait(connection, request, exchange, limits, begun_ns)
            except BaseException:
                connection.close()
                raise
            finally:
                self._busy.discard(connection)
            is_stale = is_used and problem is not None and connection.is_stale
            if connection.is_reusable:
                self._idle.append(connection)
            else:
                connection.close()
            if not is_stale:
                return exchange, begun_ns, problem

    def _idle_one(self) -> Connection | None:
        while self._idle:
            # The newest: it is the least likely to be closed by the server meanwhile.
            connection = self._idle.pop()
            if connection.is_reusable:
                return connection
        return None

    async def _connect(self) -> Connection:
        loop, place = asyncio.get_running_loop(), self.url.authority
        try:
            async with asyncio.timeout(self.limits.connect_s):
                _, connection = await loop.create_connection(
                    lambda: Connection(self._memory, has_own_parser=self._has_own_parser),
                    *self._place,
                    ssl=self._tls,
                    server_hostname=self.url.host if self._tls else None,
                    happy_eyeballs_delay=self._race_s,
                )
        except TimeoutError:
            limit_s = self.limits.connect_s
            raise OSError(f"no connection to {place} within {limit_s:g} s") from None
        except (OSError, ssl.CertificateError) as error:
            raise OSError(explain_failure(error, place)) from None
        return connection


def _is_address(host: str) -> bool:
    return ":" in host or host.replace(".", "").isdecimal()


async def _wait(
    connection: Connection, request: bytes, exchange: Exchange, limits: Limits, begun_ns: int
) -> str | None:
    """Wait for the answer as long as the limits allow; what went wrong, else None.

    The limits are looked at when one may be over, so that events cost nothing for them.
    """
    loop = asyncio.get_running_loop()
    timer: asyncio.TimerHandle | None = None

    def look() -> None:
        nonlocal timer
        end_ns, why = _next_limit(exchange, limits, begun_ns)
        left_s = (end_ns - monotonic_ns()) / _NS
        if left_s <= 0:
            connection.give_up(why)
        else:
            # The first text may come at any time, and with it the limit for the next one begins.
            timer = loop.call_later(min(left_s, limits.gap_s), look)

    done = connection.send(request, exchange)
    timer = loop.call_later(min(limits.first_s, limits.gap_s, limits.whole_s), look)
    try:
        return await done
    finally:
        if timer is not None:
            timer.cancel()


def _next_limit(exchange: Exchange, limits: Limits, begun_ns: int) -> tuple[int, str]:
    """Which limit comes next, and what it means when it is over."""
    whole_ns = begun_ns + int(limits.whole_s * _NS)
    newest_ns = exchange.newest_ns()
    if newest_ns is None:
        part_ns = begun_ns + int(limits.first_s * _NS)
        why = f"no text within {limits.first_s:g} s"
    else:
        part_ns = newest_ns + int(limits.gap_s * _NS)
        why = f"no more text for {limits.gap_s:g} s"
    if whole_ns <= part_ns:
        return whole_ns, f"not complete within {limits.whole_s:g} s"
    return part_ns, why
