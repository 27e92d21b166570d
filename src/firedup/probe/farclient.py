"""Asks a server by way of a client that runs on the server's own host, so that no link is timed."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, replace
from itertools import count
from time import monotonic_ns
from typing import Any

import msgspec

from firedup.core.error import HostError, UsageError
from firedup.core.measure.measured import Request
from firedup.host.frame import Data
from firedup.host.http import KeySource
from firedup.host.link import Agent
from firedup.host.stream import Stream
from firedup.host.talk import talk
from firedup.probe.call import Call
from firedup.probe.client import Fetched
from firedup.probe.farzip import far_command, far_program
from firedup.probe.key import ApiKey
from firedup.probe.tls import Trust
from firedup.probe.url import ServerUrl

# A request that is to be sent while there is no link waits so long for the next one.
LINK_WAIT_S = 20.0


class _LostError(Exception):
    """There is no answer, and why."""


class _UnsentError(_LostError):
    """The link broke before the server was asked."""


class FarClient:
    """As `Client`, but what it measures is measured on the host, by its clock.

    `serve` starts the far side and carries what is asked to it, for as long as a link lasts; `up`
    is set while it can be asked. Its times are moved by a constant into this machine's clock. The
    key is `key`, else what the host finds by `key_from`, which then stays there. Certificates are
    checked there: by `trust`, whose own authorities are sent along, else by the host's.
    """

    # Of each stream a request waits on the host behind the one that is answered, so that the
    # stream does not rest while a message goes to and fro.
    ahead = 2

    def __init__(
        self,
        url: ServerUrl,
        *,
        key: ApiKey | None = None,
        key_from: KeySource | None = None,
        trust: Trust | None = None,
    ) -> None:
        self.url = url
        self._trust = (trust or Trust()).carried()
        self.up = asyncio.Event()
        self._key = key
        self._key_from = key_from if key is None else None
        self._numbers = count(1)
        self._outgoing: asyncio.Queue[bytes] = asyncio.Queue()
        self._pending: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._begun: set[int] = set()  # of these, those that the far side has sent to the server
        self._shift_ns = 0
        self._ended: str | None = None

    async def serve(self, agent: Agent, python: str) -> None:
        """Run the far side with the interpreter `python` of the host, until it or the link ends.

        HostError with what ended it, in any case; requests under way then end with that too.
        """
        outgoing = self._outgoing = asyncio.Queue()
        with closing(talk(agent, far_command(python), key_from=self._key_from)) as stream:
            outgoing.put_nowait(far_program())
            outgoing.put_nowait(_line(self._order()))
            writing = asyncio.ensure_future(_write(stream, outgoing))
            why = f"the client on {agent.host.name} ended"
            try:
                await self._read(stream)
                said = (stream.result or {}).get("words", "").strip().splitlines()
                raise HostError(why, where=agent.host.name, evidence=said[-1] if said else None)
            except HostError as error:
                why = error.what
                raise
            finally:
                self.up.clear()
                writing.cancel()
                await asyncio.wait((writing,))
                for number, waiting in self._pending.items():
                    if not waiting.done():
                        is_sent = number in self._begun
                        waiting.set_exception((_LostError if is_sent else _UnsentError)(why))

    def give_up(self, why: str) -> None:
        """Nothing will serve any more, for that reason."""
        self._ended = why
        self.up.set()

    async def complete(self, call: Call) -> Request:
        """Ask for a completion. Never raises for what the server, the host or the link does."""
        begun_ns = monotonic_ns() if call.due_ns is None else call.due_ns
        try:
            answer = await self._ask(lambda: {"complete": _encode_call(call)})
        except _LostError as error:
            return Request(
                call.prompt,
                call.category,
                begun_ns,
                error=str(error),
                is_warm_up=call.is_warm_up,
                block=call.block,
                turn=call.turn,
            )
        return self._shifted(msgspec.convert(answer, Request))

    async def fetch(
        self, path: str, *, method: str = "GET", body: bytes = b"", timeout_s: float = 10.0
    ) -> Fetched:
        """The answer of a route that does not stream, such as metrics."""
        asked = {
            "path": path,
            "method": method,
            "body": base64.b64encode(body).decode(),
            "timeout_s": timeout_s,
        }
        try:
            answer = await self._ask(lambda: {"fetch": asked})
        except _LostError as error:
            return Fetched(None, b"", str(error))
        return Fetched(answer["status"], base64.b64decode(answer["body"]), answer["error"])

    async def _ask(self, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """The far side's answer. Cancelling it cancels the request there.

        What was not sent to the server when a link broke goes over the next one.
        """
        while True:
            number = next(self._numbers)
            try:
                return await self._ask_once(number, make)
            except _UnsentError:
                continue  # which waits for the next link, or hears that there is none
            finally:
                self._begun.discard(number)

    async def _ask_once(self, number: int, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        if self._ended is None:
            try:
                async with asyncio.timeout(LINK_WAIT_S):
                    await self.up.wait()
            except TimeoutError:
                raise _LostError("there is no link to the host") from None
        if self._ended is not None:
            raise _LostError(self._ended)
        outgoing = self._outgoing
        waiting: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._pending[number] = waiting
        outgoing.put_nowait(_line({"id": number, **make()}))
        try:
            return await waiting
        except asyncio.CancelledError:
            outgoing.put_nowait(_line({"id": number, "cancel": True}))
            raise
        finally:
            del self._pending[number]

    async def _read(self, stream: Stream) -> None:
        """Take what the far side says, a line at a time."""
        rest = bytearray()
        async for message in stream:
            if not isinstance(message, Data):
                continue
            rest += message.data
            *lines, rest = rest.split(b"\n")
            for line in lines:
                self._take(json.loads(line))

    def _take(self, said: dict[str, Any]) -> None:
        if "failed" in said:
            raise UsageError(said["failed"])
        if "now_ns" in said:
            self._shift_ns = monotonic_ns() - said["now_ns"]
            self.up.set()
            return
        waiting = self._pending.get(said["id"])
        if waiting is None or waiting.done():
            return  # it was cancelled meanwhile
        if "begun" in said:
            self._begun.add(said["id"])
        elif "fault" in said:
            waiting.set_exception(_LostError(f"the client on the host failed: {said['fault']}"))
        else:
            waiting.set_result(said["answer"])

    def _order(self) -> dict[str, Any]:
        key = self._key.hand_over() if self._key is not None else None
        trust = {"pem": self._trust.pem, "is_blind": self._trust.is_blind}
        return {"url": asdict(self.url), "key": key, **trust}

    def _shifted(self, request: Request) -> Request:
        def shift(at_ns: int | None) -> int | None:
            return None if at_ns is None else at_ns + self._shift_ns

        return replace(
            request,
            begun_ns=request.begun_ns + self._shift_ns,
            first_ns=shift(request.first_ns),
            last_ns=shift(request.last_ns),
            gap_at_ns=shift(request.gap_at_ns),
        )


async def _write(stream: Stream, outgoing: asyncio.Queue[bytes]) -> None:
    """Hand on what is asked, whole lines in turn. That the link broke is told by its reader."""
    try:
        while True:
            await stream.write(await outgoing.get())
    except HostError:
        return


def _encode_call(call: Call) -> dict[str, Any]:
    late_ns = None if call.due_ns is None else max(0, monotonic_ns() - call.due_ns)
    given = {**asdict(call), "body": call.body.decode(), "late_ns": late_ns}
    del given["due_ns"]
    return given


def _line(message: dict[str, Any]) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"
