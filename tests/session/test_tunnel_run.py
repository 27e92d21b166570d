"""A tunnel outlives the link that carries it."""

import asyncio
import os
import signal

from workbench import LIMIT_S, Site, recorded, until

from firedup.core.model import Verdict
from firedup.host.base import local_host
from firedup.host.link import open_agent
from firedup.session.linked import Patience
from firedup.session.stop import stop_run
from firedup.session.tunnel import Opened, Tunnel


async def ask(port: int) -> bytes:
    """The first line of an answer of the server; b"" when the connection ends before."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        async with asyncio.timeout(LIMIT_S):
            return await reader.readline()
    except ConnectionError:
        return b""
    finally:
        writer.close()


async def test_connections_end_with_the_link_and_new_ones_go_over_the_next(site: Site) -> None:
    run = await site.launch(site.serve(site.fake(recorded("s01_success.log"))))
    snapshots = site.watch(run)
    await until(snapshots, lambda now: now.explanation.verdict is Verdict.READY)
    said: list[str] = []
    opened: asyncio.Future[Opened] = asyncio.get_running_loop().create_future()
    async with open_agent(local_host()) as doomed:
        tunnel = Tunnel(doomed, run, say=said.append)
        running = asyncio.ensure_future(
            tunnel.run(bind="127.0.0.1", port=None, tell=opened.set_result, patience=Patience())
        )
        port = (await opened).port
        before = await ask(port)
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET ")
        await ask(port)

        os.kill(doomed.hello["pid"], signal.SIGKILL)
        async with asyncio.timeout(LIMIT_S):
            try:
                broken = await reader.read()
            except ConnectionError:
                broken = b""
        writer.close()
        after = await ask(port)
        await stop_run(site.agent, site.catalogue, run, say=said.append)
        async with asyncio.timeout(LIMIT_S):
            end = await running

    assert before.startswith(b"HTTP/1.1 200")
    assert broken == b""
    assert after.startswith(b"HTTP/1.1 200")
    assert [text.partition(":")[0] for text in said[:2]] == [
        "the link is down",
        "the link is up again",
    ]
    assert end is not None
    assert end.code == 0
