"""A tunnel outlives the link that carries it."""

import asyncio
import os
import signal

import pytest
from workbench import LIMIT_S, Site, recorded, until

from firedup.core.error import UsageError
from firedup.core.model import Verdict
from firedup.host.base import local_host
from firedup.host.file import read_file
from firedup.host.link import open_agent
from firedup.session.linked import Patience
from firedup.session.stop import stop_run
from firedup.session.tunnel import Opened, Tunnel, find_port, place_of


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
        place = place_of(run, await find_port(doomed, run))
        tunnel = Tunnel(doomed, place, say=said.append, run_id=run.label.id)
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


LISTENER = """
import select, socket
doors = [socket.create_server(("127.0.0.1", 0)) for _ in range({count})]
print("at", *[door.getsockname()[1] for door in doors], flush=True)
select.select((), (), ())
"""


@pytest.mark.parametrize("count", [0, 1, 2])
async def test_without_a_port_in_the_command_the_only_one_it_listens_at_is_meant(
    site: Site, count: int
) -> None:
    run = await site.launch((site.program(LISTENER.format(count=count), "server"),))
    async with asyncio.timeout(LIMIT_S):
        while not (text := await read_file(site.agent, run.log)).endswith(b"\n"):
            await asyncio.sleep(0)
    ports = [int(word) for word in text.split()[1:]]

    assert run.spec.port is None
    if count == 1:
        assert [await find_port(site.agent, run)] == ports
        return
    with pytest.raises(UsageError, match="names no port") as caught:
        await find_port(site.agent, run)
    listed = ", ".join(map(str, sorted(ports))) or "no port yet"
    assert caught.value.why == f"its processes listen at {listed}"
    assert caught.value.todo == f"Say which: firedup tunnel {run.label.name} --to PORT"
