"""What `firedup run` does: order, launch, watch, and a word when the watching is broken off."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from shlex import quote
from typing import Any

from firedup.cli.compose import read_command
from firedup.cli.drive import run_async
from firedup.cli.knowledge import read_catalogue
from firedup.cli.option import read_limit
from firedup.cli.recalled import complete_order
from firedup.cli.watching import say_goes_on, say_launched, watch_launched
from firedup.host.base import LinkError
from firedup.profile.schema import Catalogue
from firedup.session.launch import launch
from firedup.session.open import open_host
from firedup.session.order import Order
from firedup.session.registry import Run

LAUNCH_LIMIT_S = 10.0


def launch_and_watch(given: Mapping[str, Any]) -> int:
    """Launch what the options of `firedup run` describe; the exit status."""
    catalogue = read_catalogue(given["profiles"], engine=given["engine"])
    order = read_order(given, catalogue)
    return run_async(_launch_and_watch(order, catalogue, given))


def read_order(given: Mapping[str, Any], catalogue: Catalogue) -> Order:
    """The order that the options make."""
    words = ("engine", "target", "draft", "tp", "port", "bind")
    env, argv = read_command(given["words"], catalogue, **{word: given[word] for word in words})
    return Order(
        argv=argv,
        name=given["name"],
        env=(*given["env"], *env),
        env_files=given["env_files"],
        setup=given["setup"],
        login=bool(given["login"]),
        cwd=given["cwd"],
        log=given["log"],
        timeout_s=read_limit(given["timeout_s"]),
        force=given["force"],
        hooks=given["hooks"],
        notify=given["notify"],
        engine=given["engine"],
    )


async def _launch_and_watch(order: Order, catalogue: Catalogue, given: Mapping[str, Any]) -> int:
    async with open_host(given["host"] or "local") as agent:
        order = complete_order(agent, order, given)
        try:
            run = await _launch_whole(launch(agent, catalogue, order))
        except LinkError as error:
            raise _add_doubt(error, agent.host.name) from error
        if given["no_wait"]:
            say_launched(run, as_json=given["as_json"])
            return 0
        return await watch_launched(agent, catalogue, run, given)


def _add_doubt(error: LinkError, host: str) -> LinkError:
    """The link broke on the way: whether the server began is for the host to say."""
    todo = f"Whether the server began is not known here: firedup ps --all --host {quote(host)}"
    return error.advise(todo)


async def _launch_whole(launching: Coroutine[Any, Any, Run]) -> Run:
    """The launched run. One that is cut short is awaited, so that no server stays unknown."""
    task = asyncio.ensure_future(launching)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task], timeout=LAUNCH_LIMIT_S)
        if task.done() and task.exception() is None:
            say_goes_on(task.result())
        raise
