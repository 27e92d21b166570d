"""What `firedup watch --node` does: a log on each host, one verdict."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from firedup.cli.drive import run_async
from firedup.cli.knowledge import match_server, read_catalogue
from firedup.cli.nodeoption import NodePlace, read_places, refuse_host
from firedup.cli.show import read_showing, show_snapshots
from firedup.cli.watching import conclude, read_watching
from firedup.core.error import FiredupError, UsageError
from firedup.core.model import Snapshot
from firedup.core.rule import Matcher
from firedup.host.link import Agent
from firedup.profile.schema import Catalogue
from firedup.profile.words import add_patterns
from firedup.session.attend import watch_log
from firedup.session.nodes import open_agents
from firedup.session.nodes_watch import Feed, NodesWatch
from firedup.session.path import path_on
from firedup.session.watch import Watching


def watch_nodes_to_verdict(given: Mapping[str, Any]) -> int:
    """Watch the logs that several `--node` name; the exit status."""
    refuse_host(given)
    if given["log"] is not None or given["pid"] is not None:
        raise UsageError("each node has its own log and process, so that LOG and --pid name none")
    places = _put_head_first(read_places(given["nodes"], needs_log=True), given["head"])
    catalogue = read_catalogue(given["profiles"], engine=given["engine"])
    words = {name: given[f"{name}_pattern"] for name in ("ready", "fail", "progress")}
    return run_async(_watch(places, add_patterns(catalogue, **words), given))


def _put_head_first(places: Sequence[NodePlace], head: str | None) -> tuple[NodePlace, ...]:
    if len(places) < 2:
        raise UsageError("one node is no more than a log", todo="firedup watch LOG --host HOST")
    first = places[0] if head is None else next((p for p in places if p.host == head), None)
    if first is None:
        hosts = ", ".join(place.host for place in places)
        raise UsageError(f"the head {head!r} is none of the nodes", why=f"there are: {hosts}")
    return (first, *(place for place in places if place is not first))


async def _watch(
    places: Sequence[NodePlace], catalogue: Catalogue, given: Mapping[str, Any]
) -> int:
    showing = read_showing(given)
    matcher = match_server(catalogue, given["engine"])
    async with open_agents([place.host for place in places]) as agents:
        feeds = [
            _feed(place, rank, agent, catalogue, matcher, given["engine"])
            for rank, (place, agent) in enumerate(zip(places, agents, strict=True))
        ]
        watch = NodesWatch(feeds, read_watching(given, showing))
        return conclude(await show_snapshots(watch.snapshots(), showing), given)


def _feed(
    place: NodePlace,
    rank: int,
    agent: Agent | FiredupError,
    catalogue: Catalogue,
    matcher: Matcher,
    engine: str | None,
) -> Feed:
    if isinstance(agent, FiredupError):
        return Feed(place.host, rank, None, None, agent)

    def stream(agent: Agent, watching: Watching) -> AsyncIterator[Snapshot]:
        path = path_on(agent, place.log or "")
        return watch_log(agent, catalogue, matcher, path, watching, engine=engine)

    return Feed(place.host, rank, agent, stream)
