"""The least that a streaming client can do: asyncio.Protocol, httptools, a stamp for each event."""

from __future__ import annotations

import asyncio
import json
from time import monotonic_ns
from typing import Any

import httptools


class MinimalClient(asyncio.Protocol):
    """Asks one thing after the other on one connection and keeps each event with its stamp."""

    transport: Any
    parser: Any

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self.transport = transport
        self.parser = httptools.HttpResponseParser(self)
        self.now = 0
        self.events: list[tuple[int, bytes]] = []

    def data_received(self, data: bytes) -> None:
        """Stamp what came."""
        self.now = monotonic_ns()
        self.parser.feed_data(data)

    def on_body(self, body: bytes) -> None:
        """Keep each event."""
        for event in body.split(b"\n\n"):
            if event:
                self.events.append((self.now, event[6:]))

    def on_message_complete(self) -> None:
        """Hand over."""
        self.done.set_result(None)

    async def ask(self, request: bytes) -> tuple[list[tuple[int, bytes]], int]:
        """The events with text and the tokens of one answer."""
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.events = []
        self.transport.write(request)
        await self.done
        usage = json.loads(self.events[-2][1])["usage"]
        return self.events[:-2], usage["completion_tokens"]
