"""Whoever asks a server: a client on the server's own host, else one here or through a tunnel."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

from firedup.core.error import FiredupError, HostError, UsageError
from firedup.host.base import LinkError
from firedup.host.http import KeySource
from firedup.host.link import Agent
from firedup.probe.asker import Asker
from firedup.probe.client import Client
from firedup.probe.farclient import FarClient
from firedup.probe.farpython import find_python
from firedup.probe.farzip import OLDEST
from firedup.probe.key import ApiKey
from firedup.probe.target import make_target
from firedup.probe.tls import Trust
from firedup.probe.url import ServerUrl
from firedup.profile.load import load_catalogue
from firedup.session.linked import LinkSpeaker, Patience, give_up, run_linked
from firedup.session.registry import Run
from firedup.session.tunnel import LOOPBACK, Opened, Place, Tunnel, find_port, place_of

START_S = 30.0


@asynccontextmanager
async def open_asker(
    agent: Agent,
    run: Run,
    *,
    key: ApiKey | None,
    trust: Trust | None,
    say: Callable[[str], None],
) -> AsyncIterator[tuple[Asker, str]]:
    """A client of the server of `run`, and how it is reached: "direct", "host" or "tunnel".

    `say` is told why it is a tunnel. UsageError when the server has ended, LinkError when the host
    is not reached any more.
    """
    place = place_of(run, await find_port(agent, run))
    url = ServerUrl("https" if place.has_tls else "http", place.address, place.port)
    if agent.host.is_local:
        async with Client(url, key=key, trust=trust) as near:
            yield near, "direct"
        return
    profile = load_catalogue().profile(run.spec.engine)
    target = make_target(agent, run.spec, profile, run_folder=run.folder)
    asking = open_far_asker(agent, url, key=key, trust=trust, say=say, key_from=target.key, run=run)
    async with asking as found:
        yield found


@asynccontextmanager
async def open_far_asker(
    agent: Agent,
    url: ServerUrl,
    *,
    key: ApiKey | None,
    trust: Trust | None,
    say: Callable[[str], None],
    key_from: KeySource | None = None,
    run: Run | None = None,
) -> AsyncIterator[tuple[Asker, str]]:
    """A client of the server at `url`, as the host of `agent` understands it: "host" or "tunnel".

    The client runs on the host, or here at the end of a tunnel where none can run there, and `say`
    is told why. LinkError when the host is not reached any more.
    """
    server = run.state.server if run else None
    async with AsyncExitStack() as stack:
        try:
            far = FarClient(url, key=key, key_from=key_from, trust=trust)
            pid = server.pid if server else None
            far = await stack.enter_async_context(open_far(agent, far, say, server_pid=pid))
        except LinkError:
            raise
        except HostError as error:
            say(f"{error.what}; the server is asked through a tunnel, and times include its delay")
        else:
            yield far, "host"
            return
        place = Place(url.host, url.port, url.has_tls)
        tunnel = Tunnel(agent, place, say=say, run_id=run.label.id if run else None)
        via = await stack.enter_async_context(_tunnelled(tunnel))
        near = Client(url, key=key, trust=trust, via=via)
        yield await stack.enter_async_context(near), "tunnel"


@asynccontextmanager
async def open_far(
    agent: Agent, client: FarClient, say: Callable[[str], None], *, server_pid: int | None = None
) -> AsyncIterator[FarClient]:
    """`client` with its far side on the host. FiredupError when that does not start there.

    The server's own interpreter will do, where `server_pid` is known.
    """
    python = await find_python(agent, server_pid=server_pid)
    if python is None:
        oldest = ".".join(map(str, OLDEST))
        raise HostError(f"{agent.host.name} has no Python {oldest} or later for the client")
    serving = asyncio.ensure_future(_serve(client, agent, python, say))
    rising = asyncio.ensure_future(client.up.wait())
    try:
        await asyncio.wait((serving, rising), timeout=START_S, return_when=asyncio.FIRST_COMPLETED)
        if serving.done():
            serving.result()
        if not client.up.is_set():
            raise HostError(f"the client on {agent.host.name} did not start within {START_S:g} s")
        yield client
    finally:
        for task in (serving, rising):
            task.cancel()
        await asyncio.wait((serving, rising))
        _ = serving.cancelled() or serving.exception()  # requests had it as their error


async def _serve(client: FarClient, agent: Agent, python: str, say: Callable[[str], None]) -> None:
    """Have the client served over one link after the other, until it is of no use."""
    patience = Patience()
    try:
        await run_linked(
            agent, lambda linked: client.serve(linked, python), LinkSpeaker(say), patience
        )
        raise give_up(agent, patience)
    except FiredupError as error:
        client.give_up(error.what if error.evidence is None else f"{error.what}: {error.evidence}")
        raise


@asynccontextmanager
async def _tunnelled(tunnel: Tunnel) -> AsyncIterator[tuple[str, int]]:
    """A port of this machine, for as long as it is wanted."""
    opened: asyncio.Future[Opened] = asyncio.get_running_loop().create_future()
    running = asyncio.ensure_future(
        tunnel.run(bind=LOOPBACK, port=0, tell=opened.set_result, patience=Patience())
    )
    try:
        await asyncio.wait((opened, running), return_when=asyncio.FIRST_COMPLETED)
        if not opened.done():
            await running
            raise UsageError("the server has ended")
        yield LOOPBACK, opened.result().port
    finally:
        running.cancel()
        await asyncio.wait((running,))
