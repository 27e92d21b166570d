"""The samples of a server that no keeper takes any."""

from __future__ import annotations

from collections.abc import Callable

from firedup.core.event import Sample
from firedup.host.base import OperationError
from firedup.host.link import Agent
from firedup.host.process import watch_tree


async def feed_samples(
    agent: Agent, feed: Callable[[Sample], None], server: tuple[int, int], log: str
) -> None:
    """Take the samples of a process tree until it is gone; `server` is its pid and start ticks.

    That it is gone before the first one is no error: whoever waits for its end tells that.
    """
    try:
        async for sample in watch_tree(agent, *server, log=log):
            feed(sample)
    except OperationError as error:
        if error.code != "gone":
            raise
