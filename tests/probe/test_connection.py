"""One connection at its moments between two exchanges."""

from __future__ import annotations

import asyncio

from speaker import saying, speak

from firedup.probe.connection import Connection, make_memory
from firedup.probe.exchange import Exchange


async def test_a_connection_that_is_being_closed_is_not_to_be_used_again() -> None:
    loop = asyncio.get_running_loop()
    async with speak(saying(b"")) as speaker:
        transport, connection = await loop.create_connection(
            lambda: Connection(make_memory()), "127.0.0.1", speaker.port
        )
        transport.close()  # as the loop does at the server's end; it tells so one turn later

        done = connection.send(b"GET / HTTP/1.1\r\n\r\n", Exchange())

        assert done.result() == "the server closed the connection"
        assert connection.is_stale
        assert not connection.is_reusable
