"""What `firedup run` does with several nodes: order, launch on all hosts, watch the whole."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import cache
from typing import Any

from firedup.cli.drive import run_async
from firedup.cli.index import remember_run
from firedup.cli.knowledge import match_server, read_catalogue
from firedup.cli.launch import launch_whole, read_order, say_risk_on
from firedup.cli.nodeoption import read_places, refuse_host
from firedup.cli.recalled import complete_order
from firedup.cli.say import say_aside
from firedup.cli.show import read_showing, show_snapshots
from firedup.cli.watching import conclude, read_watching, say_goes_on, say_launched
from firedup.core.error import FiredupError
from firedup.core.model import Snapshot
from firedup.core.rule import Matcher
from firedup.host.link import Agent
from firedup.profile.schema import Catalogue
from firedup.session.nodes import Member, NodePlan, open_agents, put_head_first
from firedup.session.nodes_file import read_nodes_file
from firedup.session.nodes_launch import check_nodes, launch_nodes, make_orders
from firedup.session.nodes_watch import NodesWatch, feed_of
from firedup.session.registry import Run

_NO_COMMAND = "\0"  # no word of a command line can be that


def launch_nodes_and_watch(given: Mapping[str, Any]) -> int:
    """Launch what `--nodes FILE` or several `--node` describe; the exit status."""
    refuse_host(given)
    catalogue = read_catalogue(given["profiles"], engine=given["engine"])
    plans = _read_plans(given, catalogue)
    return run_async(_launch_and_watch(plans, catalogue, given))


def _read_plans(given: Mapping[str, Any], catalogue: Catalogue) -> tuple[NodePlan, ...]:
    if given["nodes_file"] is None:
        common = read_order(given, catalogue)
        places = read_places(given["nodes"])
        plans = tuple(NodePlan(p.host, replace(common, log=p.log or common.log)) for p in places)
        return put_head_first(plans, given["head"])
    # The words are no command of their own but flags for those of the file.
    order = read_order({**given, "words": (*given["words"], _NO_COMMAND)}, catalogue)
    flags = tuple(word for word in order.argv if word != _NO_COMMAND)
    found = read_nodes_file(given["nodes_file"], replace(order, argv=flags))
    return put_head_first(found.nodes, given["head"] or found.head)


async def _launch_and_watch(
    plans: Sequence[NodePlan], catalogue: Catalogue, given: Mapping[str, Any]
) -> int:
    hosts = [plan.host for plan in plans]
    async with _reach_all(hosts) as agents:
        orders = [
            complete_order(agent, order, given)
            for agent, order in zip(agents, make_orders(catalogue, agents, plans), strict=True)
        ]
        await check_nodes(catalogue, agents, orders, heed=say_risk_on)
        launching = launch_nodes(agents, catalogue, orders, hosts, say=say_aside)
        members = await launch_whole(launching, hosts, run_of_head)
        if given["no_wait"]:
            for member in members:
                if member.run is not None:
                    say_launched(member.run, as_json=given["as_json"])
            return 0
        return await watch_members(members, catalogue, given)


@asynccontextmanager
async def _reach_all(hosts: Sequence[str]) -> AsyncIterator[tuple[Agent, ...]]:
    """An agent on each host; what is wrong with the first that has none is raised."""
    async with open_agents(hosts) as opened:
        agents = []
        for found in opened:
            if isinstance(found, FiredupError):
                raise found
            agents.append(found)
        yield tuple(agents)


async def watch_members(
    members: Sequence[Member], catalogue: Catalogue, given: Mapping[str, Any]
) -> int:
    """Watch all nodes of a run to its verdict; the exit status. The servers outlive it."""
    showing = read_showing(given)

    @cache
    def make_matcher(engine: str | None) -> Matcher:
        return match_server(catalogue, engine)

    for member in members:
        if member.run is not None:
            remember_run(member.run, None)
    feeds = [feed_of(member, catalogue, make_matcher) for member in members]
    watch = NodesWatch(feeds, read_watching(given, showing))
    head = members[0].run
    latest: deque[Snapshot] = deque(maxlen=1)
    try:
        last = await show_snapshots(watch.snapshots(), showing, latest.append)
    except asyncio.CancelledError:
        if head is not None:
            say_goes_on(head, *latest)
        raise
    if head is not None:
        remember_run(head, last)
    return conclude(last, given)


def run_of_head(members: Sequence[Member]) -> Run | None:
    """What a run on several hosts is called by."""
    return members[0].run
