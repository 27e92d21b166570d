"""Runs as the rows of `firedup ps`."""

from __future__ import annotations

from functools import cache

from firedup.cli.index import remember_runs
from firedup.cli.knowledge import match_server, read_catalogue
from firedup.core.model import State, Verdict
from firedup.session.open import open_host
from firedup.session.registry import Run, list_runs
from firedup.session.summary import Summary, summarise_runs
from firedup.view.table import RunRow


async def fetch_rows(host: str, *, has_ended_ones: bool) -> tuple[RunRow, ...]:
    """The runs of `host`, newest first; those that have ended only on demand."""
    make_matcher = cache(lambda engine: match_server(read_catalogue(), engine))
    async with open_host(host) as agent:
        runs = await list_runs(agent)
        shown = [run for run in runs if has_ended_ones or run.is_alive]
        summaries = await summarise_runs(agent, make_matcher, shown)
    pairs = list(zip(shown, summaries, strict=True))
    known = {run.label.id: summary for run, summary in pairs}
    remember_runs(host, [(run, known.get(run.label.id)) for run in runs])
    return tuple(make_row(run, summary) for run, summary in pairs)


async def count_runs(host: str) -> int:
    """How many runs `host` knows, the ended ones among them."""
    async with open_host(host) as agent:
        return len(await list_runs(agent))


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
    )
