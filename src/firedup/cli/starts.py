"""What `firedup history` does: read what became of earlier starts, and show it."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Sequence
from functools import cache

import click

from firedup.cli.drive import run_async
from firedup.cli.index import remember_runs
from firedup.cli.knowledge import match_server, read_catalogue
from firedup.cli.links import open_links
from firedup.cli.paper import choose_output
from firedup.cli.say import say_aside
from firedup.core.difference import Change
from firedup.core.error import HostError, UsageError
from firedup.core.model import RunLabel, Stage, Verdict
from firedup.host.address import name_host
from firedup.host.link import Agent
from firedup.session.open import open_host
from firedup.session.past import before, times_of
from firedup.session.precedent import compare_runs
from firedup.session.registry import Run, list_runs
from firedup.session.summary import Summary, summarise_runs
from firedup.store.index import IndexedRun, index_path, read_index
from firedup.view.history import (
    StartRow,
    record_changes,
    record_history,
    render_changes,
    render_history,
)
from firedup.view.record import render_json


def tell_history(
    hosts: Sequence[str], *, model: str | None, last: int, as_json: bool, no_color: bool
) -> int:
    """List the starts of `hosts`; 3 when none of them answered and none was known."""
    rows: list[StartRow] = []
    troubles: dict[str, HostError] = {}
    for host in dict.fromkeys(hosts):
        try:
            rows += run_async(_fetch_rows(host, model, last))
        except HostError as error:
            troubles[host] = error
            known = [r for r in read_index(index_path(os.environ)) if name_host(r.host) == host]
            rows += [_indexed(run) for run in known if _is_of(run.model, run.name, model)][:last]
    rows.sort(key=lambda row: row.started_ns or 0, reverse=True)
    rows = rows[:last]
    if as_json:
        said = {host: error.what for host, error in troubles.items()}
        click.echo(render_json(record_history(rows, unreached=said)))
    if len(troubles) == len(set(hosts)) and not rows:
        raise next(iter(troubles.values()))
    if not as_json:
        paper = choose_output(no_color=no_color)
        click.echo(render_history(rows, paper, wanted=model), color=True)
    for host, trouble in troubles.items():
        why = trouble.what.removeprefix(f"{host}: ")
        say_aside(f"firedup: {host}: {why}; what is told of it is what was known here")
    return 0


def tell_changes(
    old: str | None, new: str, *, host: str | None, as_json: bool, no_color: bool
) -> int:
    """Show what changed from the run `old` (None: the one of its name before) to the run `new`."""
    rows, changes = run_async(_compare(old, new, host))
    if as_json:
        click.echo(render_json(record_changes(*rows, changes)))
    else:
        paper = choose_output(no_color=no_color)
        click.echo("\n".join(render_changes(*rows, changes, paper)), color=True)
    return 0


async def _fetch_rows(host: str, model: str | None, last: int) -> list[StartRow]:
    async with open_host(host) as agent:
        runs = await list_runs(agent)
        chosen = [run for run in runs if _is_of(run.spec.model, run.label.name, model)][:last]
        rows, summaries = await _summarise(agent, chosen)
        known = dict(zip((run.label.id for run in chosen), summaries, strict=True))
        remember_runs(agent.host.name, [(run, known.get(run.label.id)) for run in runs])
        return rows


async def _compare(
    old: str | None, new: str, host: str | None
) -> tuple[tuple[StartRow, StartRow], tuple[Change, ...]]:
    async with open_links() as links:
        second_agent, second = await links.find(host, new)
        if old is None:
            first_agent, first = second_agent, await _find_before(second_agent, second)
        else:
            first_agent, first = await links.find(host, old)
        (old_row,), _ = await _summarise(first_agent, [first])
        (new_row,), _ = await _summarise(second_agent, [second])
        changes = compare_runs(first, old_row.version, second, new_row.version)
        return (old_row, new_row), changes


async def _find_before(agent: Agent, run: Run) -> Run:
    """The newest run of the same name that was launched before `run`."""
    name = run.label.name
    for earlier in before(await list_runs(agent), run):
        if earlier.label.name == name:
            return earlier
    raise UsageError(
        f"no run of the name {name} was launched before {run.label.id}",
        todo="Name the run to compare it with: firedup history OLD NEW; firedup history lists all.",
    )


async def _summarise(
    agent: Agent, runs: Sequence[Run]
) -> tuple[list[StartRow], tuple[Summary, ...]]:
    make_matcher = cache(lambda engine: match_server(read_catalogue(), engine))
    summaries = await summarise_runs(agent, make_matcher, runs, with_times=True)
    return [_row(*pair) for pair in zip(runs, summaries, strict=True)], summaries


def _row(run: Run, summary: Summary) -> StartRow:
    launched = run.manifest.launched
    return StartRow(
        run.label,
        run.spec.engine,
        summary.version,
        run.spec.model,
        summary.verdict,
        summary.stage,
        summary.cause,
        launched.wall_ns if launched else None,
        summary.ready_after_s,
        summary.served_s,
        summary.stages,
        summary.odd,
        summary.stall,
    )


def _indexed(run: IndexedRun) -> StartRow:
    verdict = stage = None
    with contextlib.suppress(ValueError):  # words of another version of firedup
        verdict = Verdict(run.verdict) if run.verdict else None
        stage = Stage(run.stage) if run.stage else None
    return StartRow(
        RunLabel(run.id, run.name, run.host),
        run.engine,
        run.version,
        run.model,
        verdict,
        stage,
        run.cause,
        run.started_ns,
        run.ready_after_s,
        run.served_s,
        times_of(json.loads(run.stages)) if run.stages else (),
    )


def _is_of(model: str | None, name: str, wanted: str | None) -> bool:
    return wanted is None or wanted.lower() in (model or name).lower()
