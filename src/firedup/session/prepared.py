"""Watches that are prepared anew when the link breaks before they have begun."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from typing import TypeVar

from firedup.core.model import Snapshot
from firedup.host.link import Agent
from firedup.session.linked import LinkSpeaker, Listener, Patience, give_up, run_linked
from firedup.session.watch import Watch, Watching

Made = TypeVar("Made")


async def watch_prepared(
    agent: Agent, prepare: Callable[[Agent], Awaitable[Watch]], watching: Watching
) -> AsyncGenerator[Snapshot, None]:
    """The snapshots of the watch that `prepare` makes; links may break meanwhile, too."""
    speaker, patience = LinkSpeaker(watching.say), Patience(watching.lost_after_s)
    async with (
        prepare_linked(agent, prepare, speaker, patience) as watch,
        aclosing(watch.snapshots()) as snapshots,
    ):
        async for snapshot in snapshots:
            yield snapshot


@asynccontextmanager
async def prepare_linked(
    agent: Agent,
    prepare: Callable[[Agent], Awaitable[Made]],
    listener: Listener,
    patience: Patience,
) -> AsyncIterator[Made]:
    """What `prepare` makes with `agent`, or anew with a new agent each time that the link breaks.

    The link that it was made with is held meanwhile; what becomes of it then is the user's to see.
    Raises LinkError when the host was given up, and what `prepare` raises over a link that stands.
    """
    made: asyncio.Future[Made] = asyncio.get_running_loop().create_future()

    async def work(agent: Agent) -> None:
        made.set_result(await prepare(agent))
        await asyncio.Event().wait()

    task = asyncio.ensure_future(run_linked(agent, work, listener, patience))
    try:
        watched: tuple[asyncio.Future[Made] | asyncio.Task[bool], ...] = (made, task)
        await asyncio.wait(watched, return_when=asyncio.FIRST_COMPLETED)
        if not made.done():
            task.result()
            raise give_up(agent, patience)
        yield made.result()
    finally:
        task.cancel()
        await asyncio.wait([task])
