"""What `firedup watch` does: a log, its process, a verdict."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from firedup.cli.drive import run_async
from firedup.cli.knowledge import match_server, read_catalogue
from firedup.cli.say import say_aside
from firedup.cli.show import read_showing, show_snapshots
from firedup.cli.watching import conclude, read_watching
from firedup.core.error import UsageError
from firedup.core.model import RunLabel, Snapshot
from firedup.host.source import parse_source
from firedup.profile.schema import Catalogue
from firedup.profile.words import add_patterns
from firedup.session.attend import watch_log
from firedup.session.open import open_host
from firedup.session.path import path_on, suspect_home
from firedup.session.source import watch_source


def watch_to_verdict(given: Mapping[str, Any]) -> int:
    """Watch what the options of `firedup watch` describe; the exit status."""
    catalogue = read_catalogue(given["profiles"], engine=given["engine"])
    words = {name: given[f"{name}_pattern"] for name in ("ready", "fail", "progress")}
    return run_async(_watch(add_patterns(catalogue, **words), given))


async def _watch(catalogue: Catalogue, given: Mapping[str, Any]) -> int:
    showing = read_showing(given)
    async with open_host(given["host"] or "local") as agent:
        matcher = match_server(catalogue, given["engine"])
        watching, engine = read_watching(given, showing), given["engine"]
        source = parse_source(given["log"])
        if source is None:
            path, pid = path_on(agent, given["log"]), given["pid"]
            if (quoted := suspect_home(agent, given["log"])) is not None:
                say_aside(f"{path} is on {agent.host.name}; if you typed a ~, quote it: {quoted}")
            snapshots = watch_log(agent, catalogue, matcher, path, watching, pid=pid, engine=engine)
        else:
            if given["pid"] is not None:
                raise UsageError(
                    "--pid goes with a log file",
                    todo=f"Leave it out: {source.word} tells its process.",
                )
            snapshots = watch_source(agent, catalogue, matcher, source, watching, engine=engine)
        if not agent.host.is_local:
            snapshots = _name_host(snapshots, agent.host.name)
        return conclude(await show_snapshots(snapshots, showing), given)


async def _name_host(snapshots: AsyncIterator[Snapshot], host: str) -> AsyncIterator[Snapshot]:
    """The same with the host on which the server is; it has no id and no name there."""
    async with aclosing(snapshots) as stream:  # type: ignore[type-var]  # a generator
        async for snapshot in stream:
            yield replace(snapshot, run=RunLabel("", "", host))
