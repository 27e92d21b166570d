"""What a measurement needs of whoever asks the server, here or on the server's host."""

from __future__ import annotations

from typing import Protocol

from firedup.core.measure.measured import Request
from firedup.probe.call import Call
from firedup.probe.client import Fetched
from firedup.probe.url import ServerUrl


class Asker(Protocol):
    """Asks one server. Neither method raises for what the server or the network does.

    `ahead`: how many requests of one stream may be handed over at a time, with `Call.at_most`.
    """

    ahead: int

    @property
    def url(self) -> ServerUrl:
        """The server, as whoever asks it sees it."""

    async def complete(self, call: Call) -> Request:
        """Ask for a completion, and measure it."""

    async def fetch(
        self, path: str, *, method: str = "GET", body: bytes = b"", timeout_s: float = 10.0
    ) -> Fetched:
        """The answer of a route that does not stream, such as metrics."""
