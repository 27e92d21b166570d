"""Removes the folders of runs that are over and old."""

from __future__ import annotations

from collections.abc import Sequence

from firedup.host.file import remove_path
from firedup.host.link import Agent
from firedup.session.clock import HostClock
from firedup.session.registry import Run

_NS = 1_000_000_000


async def prune_runs(
    agent: Agent,
    runs: Sequence[Run],
    *,
    keep: int,
    older_than_s: float | None = None,
    dry_run: bool = False,
) -> tuple[Run, ...]:
    """Remove ended runs (newest first in `runs`) beyond the newest `keep`; returns them.

    With `older_than_s` only those launched longer ago. Living servers are never touched, nor are
    logs that lie outside the run folder.
    """
    wall_ns = (await HostClock.read(agent)).wall_ns()
    ended = [run for run in runs if not run.is_alive and not run.state.is_keeper_alive]
    chosen = []
    for run in ended[keep:]:
        launched = run.manifest.launched
        age_s = (wall_ns - launched.wall_ns) / _NS if launched else float("inf")
        if older_than_s is None or age_s >= older_than_s:
            chosen.append(run)
    if not dry_run:
        for run in chosen:
            await remove_path(agent, run.folder)
    return tuple(chosen)
