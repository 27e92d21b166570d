"""Stops all nodes of a run and launches them again, with changed flags on each."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import replace
from typing import Any

from firedup.core.difference import Change, describe_changes
from firedup.core.error import FiredupError
from firedup.host.link import Agent
from firedup.profile.schema import Catalogue
from firedup.session.nodes import Member
from firedup.session.nodes_launch import HeedOf, check_nodes, launch_nodes
from firedup.session.nodes_stop import stop_nodes
from firedup.session.registry import Run
from firedup.session.restart import (
    change_command,
    find_own_processes,
    make_order,
    stop_told,
    wait_for_port,
)

Launching = Coroutine[Any, Any, tuple[Member, ...]]


async def restart_nodes(
    members: Sequence[Member],
    catalogue: Catalogue,
    changed: Sequence[str],
    *,
    say: Callable[[str], None],
    force: bool = False,
    arms_stacks: bool | None = None,
    skips: tuple[str, ...] = (),
    heed: HeedOf = lambda _, __: None,
    will_watch: bool = False,
    whole: Callable[[Launching], Awaitable[tuple[Member, ...]]] | None = None,
) -> tuple[tuple[Member, ...], tuple[Change, ...]]:
    """As `restart_run` for every node; the differences are those of the head's command.

    Nothing is stopped when a node is out of reach or its launch would be refused.
    """
    found: list[tuple[Agent, Run]] = []
    for member in members:
        if member.agent is None or member.run is None:
            raise member.fault or FiredupError(f"{member.host} was not reached")
        found.append((member.agent, member.run))
    commands = [change_command(run.manifest.env, run.manifest.argv, changed) for _, run in found]
    orders = [
        replace(
            make_order(run, env, argv, force=force, arms_stacks=arms_stacks),
            will_watch=will_watch,
            skips=skips,
        )
        for (_, run), (env, argv) in zip(found, commands, strict=True)
    ]
    agents = [agent for agent, _ in found]
    own = await asyncio.gather(*(find_own_processes(agent, run) for agent, run in found))
    await check_nodes(catalogue, agents, orders, [frozenset(pids) for pids in own], heed)
    ends = await stop_nodes(members, catalogue, say=say)
    for end in ends:
        if isinstance(end, FiredupError):
            raise end
    first = found[0][1]
    with stop_told(first, changed, say):
        await asyncio.gather(*(wait_for_port(agent, run, say) for agent, run in found))
    hosts = [member.host for member in members]
    launching = launch_nodes(agents, catalogue, orders, hosts, say=say)
    with stop_told(first, changed, say, is_launching=True):
        again = await (whole(launching) if whole else launching)
    head = first.manifest
    env, argv = commands[0]
    return again, describe_changes(head.env, head.argv, env, argv)
