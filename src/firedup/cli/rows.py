"""Runs as the rows of `firedup ps`, from one host or from many at once."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from firedup.cli.index import remember_runs
from firedup.cli.knowledge import match_server, read_catalogue
from firedup.core.error import FiredupError, HostError, UsageError
from firedup.core.model import State, Verdict
from firedup.host.address import name_host
from firedup.host.config import list_memories
from firedup.session.open import open_host
from firedup.session.registry import Run, list_folders
from firedup.session.summary import Summary, summarise_runs
from firedup.store.index import index_path, read_index
from firedup.view.table import RunRow

MOST_AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class HostRows:
    """What one host answered: the runs that are to be shown, and how many more have ended.

    `trouble` says why there is no answer. `damaged` are folders whose manifest cannot be read.
    """

    host: str
    rows: tuple[RunRow, ...] = ()
    ended: int = 0
    trouble: FiredupError | None = None
    damaged: tuple[str, ...] = ()


def list_known_hosts() -> tuple[str, ...]:
    """This machine, the hosts that the index knows runs of, and those that are remembered."""
    runs = read_index(index_path(os.environ))
    known = {*(name_host(run.host) for run in runs), *list_memories(os.environ)} - {"local"}
    return ("local", *sorted(known))


def list_hosts_with_runs(*, has_ended_ones: bool) -> tuple[str, ...]:
    """The other hosts of which the index knows runs; those that have ended only on demand."""
    runs = read_index(index_path(os.environ))
    hosts = {name_host(run.host) for run in runs if has_ended_ones or run.ended_ns is None}
    return tuple(sorted(hosts - {"local"}))


async def fetch_hosts(hosts: Sequence[str], *, has_ended_ones: bool) -> tuple[HostRows, ...]:
    """The answers of all `hosts`, in their order, asked at the same time; none hides another's."""
    gate = asyncio.Semaphore(MOST_AT_ONCE)

    async def fetch(host: str) -> HostRows:
        async with gate:
            try:
                return await fetch_rows(host, has_ended_ones=has_ended_ones)
            except (HostError, UsageError) as error:
                return HostRows(host, trouble=error)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(fetch(host)) for host in dict.fromkeys(hosts)]
    return tuple(task.result() for task in tasks)


async def fetch_rows(host: str, *, has_ended_ones: bool) -> HostRows:
    """The runs of `host`, newest first; those that have ended only on demand."""
    make_matcher = cache(lambda engine: match_server(read_catalogue(), engine))
    async with open_host(host) as agent:
        folders = await list_folders(agent)
        runs = folders.runs
        shown = [run for run in runs if has_ended_ones or run.is_alive]
        summaries = await summarise_runs(agent, make_matcher, shown)
        name = agent.host.name
    pairs = list(zip(shown, summaries, strict=True))
    known = {run.label.id: summary for run, summary in pairs}
    remember_runs(name, [(run, known.get(run.label.id)) for run in runs])
    rows = tuple(make_row(run, summary) for run, summary in pairs)
    return HostRows(name, rows, len(runs) - len(shown), damaged=folders.damaged)


def make_row(run: Run, summary: Summary | None = None) -> RunRow:
    """One run as a view shows it; without a summary as one that was launched this moment."""
    summary = summary or Summary(State.STARTING, Verdict.LOADING, up_s=0.0)
    launched = run.manifest.launched
    return RunRow(
        run=run.label,
        state=summary.state,
        verdict=summary.verdict,
        engine=run.spec.engine,
        stage=summary.stage,
        started_ns=launched.wall_ns if launched else None,
        up_s=summary.up_s,
        port=run.spec.port,
        model=run.spec.model,
        draft=run.spec.draft,
        cause=summary.cause,
        stall=summary.stall,
        node=run.manifest.node,
        nodes=run.manifest.nodes,
        hook_failures=summary.hook_failures,
    )
