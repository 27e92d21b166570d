"""A TCP connection from a host to a server there, carried over the link."""

from __future__ import annotations

import asyncio
from contextlib import closing

from firedup.core.error import HostError
from firedup.host.frame import Data
from firedup.host.link import Agent
from firedup.host.stream import Notice, Stream

# Unread bytes per connection at most: here, and as many again in each socket's buffer.
WINDOW_BYTES = 262144
PIECE_BYTES = 65536


async def carry_connection(
    agent: Agent,
    address: str,
    port: int,
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
) -> None:
    """Carry everything between `reader`/`writer` and `address`:`port` on the host, to the end.

    Each side's end is passed on by itself. Raises OperationError when the host cannot connect or
    the server breaks off, HostError when the link breaks; then `writer` was not closed.
    """
    with closing(agent.open("tunnel", address=address, port=port, window=WINDOW_BYTES)) as stream:
        outward = asyncio.ensure_future(_send(reader, stream))
        try:
            async for message in stream:
                match message:
                    case Data():
                        writer.write(message.data)
                        await writer.drain()  # a slow reader holds up the server, not our memory
                    case Notice(value={"state": "ended"}) if writer.can_write_eof():
                        writer.write_eof()
                    case _:
                        pass
        finally:
            outward.cancel()
            await asyncio.wait([outward])


async def _send(reader: asyncio.StreamReader, stream: Stream) -> None:
    """Pass on what the client sends. Failures are told by the stream's other side."""
    try:
        while data := await reader.read(PIECE_BYTES):
            await stream.write(data)
        stream.end_input()
    except (OSError, HostError):
        stream.close()
