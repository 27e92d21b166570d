"""The nodes of one run: what is to be launched on each host, what was, and the agents there."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from firedup.core.error import FiredupError, UsageError
from firedup.host.link import Agent
from firedup.session.open import open_host
from firedup.session.order import Order
from firedup.session.registry import Run, find_run

Opener = Callable[[str], AbstractAsyncContextManager[Agent]]
_SUFFIX = re.compile(r"-n\d+$")


@dataclass(frozen=True, slots=True)
class NodePlan:
    """What is to be launched on `host`; `address` is what other nodes reach it by."""

    host: str
    order: Order
    address: str | None = None


@dataclass(frozen=True, slots=True)
class Member:
    """One node of a run that was launched; `fault` says why its host or its run is out of reach."""

    host: str
    rank: int
    agent: Agent | None = None
    run: Run | None = None
    fault: FiredupError | None = None


def put_head_first(nodes: Sequence[NodePlan], head: str | None) -> tuple[NodePlan, ...]:
    """`nodes` in the order of their ranks: the one on the host `head` before the others.

    UsageError when there is no such host, or when there are fewer than two nodes.
    """
    if len(nodes) < 2:
        raise UsageError(
            f"a run on several nodes needs two of them, and there is {len(nodes)}",
            todo="For one host: firedup run --host HOST -- COMMAND",
        )
    if head is None:
        return tuple(nodes)
    first = next((node for node in nodes if node.host == head), None)
    if first is None:
        hosts = ", ".join(node.host for node in nodes)
        raise UsageError(f"the head {head!r} is none of the nodes", why=f"there are: {hosts}")
    return (first, *(node for node in nodes if node is not first))


def fill_order(order: Order, *, rank: int, count: int, head: str) -> Order:
    """`order` with {rank}, {nnodes} and {head} replaced in its words, variables and log path.

    They are replaced in words that are executed as they are; the setup, which a shell reads, is
    left alone.
    """
    values = {"{rank}": str(rank), "{nnodes}": str(count), "{head}": head}

    def fill(text: str) -> str:
        for name, value in values.items():
            text = text.replace(name, value)
        return text

    return replace(
        order,
        argv=tuple(fill(word) for word in order.argv),
        env=tuple((name, fill(value)) for name, value in order.env),
        log=fill(order.log) if order.log is not None else None,
    )


def id_of_node(run_id: str, rank: int) -> str:
    """The id of a run's folder on the node `rank`, told from the id that it has on any node.

    Hosts may share their home, so that each node has a folder of its own.
    """
    base = _SUFFIX.sub("", run_id)
    return base if rank == 0 else f"{base}-n{rank}"


@asynccontextmanager
async def open_agents(
    hosts: Sequence[str], opener: Opener = open_host
) -> AsyncIterator[tuple[Agent | FiredupError, ...]]:
    """An agent on each host, or why there is none, all opened at once and closed afterwards."""
    loop, is_over = asyncio.get_running_loop(), asyncio.Event()
    opened: list[asyncio.Future[Agent | FiredupError]] = [loop.create_future() for _ in hosts]

    async def hold(host: str, future: asyncio.Future[Agent | FiredupError]) -> None:
        # Each is opened and closed in the same task, as what opens it may want.
        try:
            async with opener(host) as agent:
                future.set_result(agent)
                await is_over.wait()
        except FiredupError as error:
            if not future.done():
                future.set_result(error)

    tasks = [asyncio.ensure_future(hold(h, f)) for h, f in zip(hosts, opened, strict=True)]
    try:
        for future, task in zip(opened, tasks, strict=True):
            either: list[asyncio.Future[Any]] = [future, task]
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if not future.done():
                task.result()  # raises what ended it
        yield tuple(future.result() for future in opened)
    finally:
        is_over.set()
        for future, task in zip(opened, tasks, strict=True):
            if not future.done():
                task.cancel()
        await asyncio.wait(tasks)


@asynccontextmanager
async def open_members(run: Run, opener: Opener = open_host) -> AsyncIterator[tuple[Member, ...]]:
    """All nodes of the run that `run` is one node of, in the order of their ranks."""
    hosts = run.manifest.nodes
    async with open_agents(hosts, opener) as agents:
        yield tuple(
            await asyncio.gather(
                *(
                    _find_member(run.label.id, host, rank, agent)
                    for rank, (host, agent) in enumerate(zip(hosts, agents, strict=True))
                )
            )
        )


async def _find_member(run_id: str, host: str, rank: int, agent: Agent | FiredupError) -> Member:
    if isinstance(agent, FiredupError):
        return Member(host, rank, fault=agent)
    try:
        return Member(host, rank, agent, await find_run(agent, id_of_node(run_id, rank)))
    except FiredupError as error:
        return Member(host, rank, fault=error)


@asynccontextmanager
async def open_node(
    agent: Agent, run: Run, rank: int | None, opener: Opener = open_host
) -> AsyncIterator[tuple[Agent, Run]]:
    """The node `rank` of the run that `run` is one node of; None means the one at hand.

    UsageError when the run has no such node.
    """
    hosts = run.manifest.nodes
    if rank is None or (rank == run.manifest.node and rank < max(1, len(hosts))):
        yield agent, run
        return
    if rank >= len(hosts):
        ranks = f"0 to {len(hosts) - 1}" if hosts else "0 alone"
        raise UsageError(f"{run.label.name} has no node {rank}", why=f"its nodes are {ranks}")
    async with opener(hosts[rank]) as other:
        yield other, await find_run(other, id_of_node(run.label.id, rank))
