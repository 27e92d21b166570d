"""A stranger on the server's port is asked for its health, and is not given the server's key."""

import asyncio

from workbench import Site

from firedup.core.model import Ownership
from firedup.testing.script import Script, line


async def test_the_key_goes_to_no_stranger(site: Site) -> None:
    heard = []

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    stranger = await asyncio.start_server(listen, "127.0.0.1", site.port)
    program = site.fake(Script((line(0, "The server is fired up and ready to roll!"),)))
    command = site.serve(program, "--api-key", "planted-key")
    run = await site.launch(command, force=True)

    last = await site.conclude(run)

    stranger.close()
    assert last.checks.owner is Ownership.NO
    assert heard
    assert b"planted-key" not in b"".join(heard)
