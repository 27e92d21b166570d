"""Launches one run on several hosts: all are checked before any is begun."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from firedup.core.error import FiredupError, UsageError
from firedup.core.model import Finding
from firedup.core.node import label_hosts
from firedup.host.link import Agent
from firedup.host.manifest import new_run_id
from firedup.profile.schema import Catalogue
from firedup.session.launch import launch, name_of, refuse_doomed, spec_of
from firedup.session.nodes import Member, NodePlan, fill_order, id_of_node
from firedup.session.order import Order, Place
from firedup.session.registry import Run
from firedup.session.stop import stop_run

_T = TypeVar("_T")
HeedOf = Callable[[str, Finding], None]  # is told on which node, and what
# What a node above the head has no part in: it is the head that becomes ready.
_HEAD_ONLY = ("ready",)


def make_orders(
    catalogue: Catalogue, agents: Sequence[Agent], plans: Sequence[NodePlan]
) -> tuple[Order, ...]:
    """The order of each node, the head's first, with its rank filled in.

    A command that names {rank} nowhere and has no flag for it gets the engine's own. UsageError
    for one that would be the same on all nodes.
    """
    head = plans[0].address or str(agents[0].hello["hostname"])
    orders = []
    for rank, plan in enumerate(plans):
        order = fill_order(plan.order, rank=rank, count=len(plans), head=head)
        if not any("{rank}" in word for word in plan.order.argv):
            order = _add_rank(catalogue, order, rank)
        if rank > 0:
            order = replace(order, hooks=tuple(h for h in order.hooks if h[0] not in _HEAD_ONLY))
        orders.append(order)
    commands = [(order.argv, order.env) for order in orders]
    if any(commands.count(command) > 1 for command in commands):
        raise UsageError(
            "the command is the same on all nodes, so that none knows which it is",
            where=plans[0].order.argv[0],
            todo="Write {rank} where the command says which node it is: --node-rank {rank}",
        )
    return tuple(orders)


def _add_rank(catalogue: Catalogue, order: Order, rank: int) -> Order:
    profile = catalogue.profile(spec_of(order, catalogue).engine)
    flags = profile.command.node_rank if profile else ()
    is_said = any(word.partition("=")[0] in flags for word in order.argv)
    if not flags or is_said:
        return order
    return replace(order, argv=(*order.argv, flags[0], str(rank)))


async def check_nodes(
    catalogue: Catalogue,
    agents: Sequence[Agent],
    orders: Sequence[Order],
    own: Sequence[frozenset[int]] | None = None,
    heed: HeedOf = lambda _, __: None,
) -> None:
    """Raise what speaks against any of the launches, looked at on all hosts at once.

    `own` are processes on each host that will be gone by then. `heed` is told of what is merely
    risky, and on which node.
    """
    known = own or [frozenset()] * len(agents)
    labels = label_hosts(tuple(agent.host.name for agent in agents))
    checks = [
        refuse_doomed(agent, catalogue, order, pids, partial(heed, label))
        for agent, order, pids, label in zip(agents, orders, known, labels, strict=True)
    ]
    _raise_first(await _all(checks), labels)


async def launch_nodes(
    agents: Sequence[Agent],
    catalogue: Catalogue,
    orders: Sequence[Order],
    hosts: Sequence[str],
    *,
    say: Callable[[str], None],
) -> tuple[Member, ...]:
    """Start every node of one run, the head before the others, which may look for it at once.

    `orders` are those of `make_orders`, checked by `check_nodes`. When one cannot be launched the
    others are stopped again, and the error says so.
    """
    clock = await agents[0].call("clock")
    name = name_of(orders[0], spec_of(orders[0], catalogue))
    run_id = new_run_id(clock["wall_ns"], name, secrets.token_hex(2))
    placed = [
        replace(
            order, name=name, force=True, place=Place(id_of_node(run_id, rank), tuple(hosts), rank)
        )
        for rank, order in enumerate(orders)
    ]
    ways = [launch(agent, catalogue, order) for agent, order in zip(agents, placed, strict=True)]
    outcomes: list[Run | FiredupError] = await _all(ways[:1])
    if isinstance(outcomes[0], FiredupError):
        for way in ways[1:]:
            way.close()
    else:
        outcomes += await _all(ways[1:])
    begun = [run for run in outcomes if not isinstance(run, FiredupError)]
    if len(begun) < len(agents):
        labels = label_hosts(tuple(hosts))
        for rank, run in reversed(list(enumerate(outcomes))):
            if not isinstance(run, FiredupError):
                say(f"stopping {labels[rank]} again")
                await stop_run(agents[rank], catalogue, run, say=say)
        stopped = f"{len(begun)} that had begun were stopped again" if begun else None
        _raise_first(outcomes, labels, why=stopped)
    return tuple(
        Member(host, rank, agent, run)
        for rank, (host, agent, run) in enumerate(zip(hosts, agents, begun, strict=True))
    )


async def _all(ways: Sequence[Coroutine[Any, Any, _T]]) -> list[_T | FiredupError]:
    """Await all; what firedup itself refuses becomes a value, anything else is raised."""
    outcomes = await asyncio.gather(*ways, return_exceptions=True)
    found: list[_T | FiredupError] = []
    for outcome in outcomes:
        if isinstance(outcome, BaseException) and not isinstance(outcome, FiredupError):
            raise outcome
        found.append(outcome)
    return found


def _raise_first(
    outcomes: Sequence[object], labels: Sequence[str], *, why: str | None = None
) -> None:
    """Raise the first error with the node it is about; the others are named below it."""
    errors = [(label, e) for label, e in zip(labels, outcomes, strict=False) if _is_error(e)]
    if not errors:
        return
    label, error = errors[0]
    assert isinstance(error, FiredupError)  # noqa: S101 - that is what was looked for
    others = [f"{other}: {e.what}" for other, e in errors[1:] if isinstance(e, FiredupError)]
    reasons = [part for part in (error.why, why, *others) if part]
    error.what = f"{label}: {error.what}"
    error.args = (error.what,)
    error.why = "\n  ".join(reasons) or None
    raise error


def _is_error(outcome: object) -> bool:
    return isinstance(outcome, FiredupError)
