"""What `firedup watch` does: a log, its process, a verdict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from firedup.cli.drive import run_async
from firedup.cli.knowledge import match_server, read_catalogue
from firedup.cli.show import read_showing, show_snapshots
from firedup.cli.watching import conclude, read_watching
from firedup.profile.schema import Catalogue
from firedup.profile.words import add_patterns
from firedup.session.attend import watch_log
from firedup.session.open import open_host
from firedup.session.path import path_on


def watch_to_verdict(given: Mapping[str, Any]) -> int:
    """Watch what the options of `firedup watch` describe; the exit status."""
    catalogue = read_catalogue(given["profiles"], engine=given["engine"])
    words = {name: given[f"{name}_pattern"] for name in ("ready", "fail", "progress")}
    return run_async(_watch(add_patterns(catalogue, **words), given))


async def _watch(catalogue: Catalogue, given: Mapping[str, Any]) -> int:
    showing = read_showing(given)
    async with open_host(given["host"] or "local") as agent:
        snapshots = watch_log(
            agent,
            catalogue,
            match_server(catalogue, given["engine"]),
            path_on(agent, given["log"]),
            read_watching(given, showing),
            pid=given["pid"],
            engine=given["engine"],
        )
        return conclude(await show_snapshots(snapshots, showing), given)
