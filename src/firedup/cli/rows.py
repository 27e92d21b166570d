"""Runs as the rows of `firedup ps`, which are also what the client's index keeps."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from functools import cache

from firedup.cli.knowledge import match_server, read_catalogue
from firedup.core.error import StoreError
from firedup.core.model import State, Verdict
from firedup.session.open import open_host
from firedup.session.run import Run, list_runs
from firedup.session.summary import Summary, summarise_runs
from firedup.store.index import IndexedRun, index_path, open_index
from firedup.view.table import RunRow


async def fetch_rows(host: str, *, has_ended_ones: bool) -> tuple[RunRow, ...]:
    """The runs of `host`, newest first; those that have ended only on demand."""
    make_matcher = cache(lambda engine: match_server(read_catalogue(), engine))
    async with open_host(host) as agent:
        runs = await list_runs(agent)
        shown = [run for run in runs if has_ended_ones or run.is_alive]
        summaries = await summarise_runs(agent, make_matcher, shown)
    pairs = list(zip(shown, summaries, strict=True))
    remember_runs(host, runs, {run.label.id: summary for run, summary in pairs})
    return tuple(make_row(run, summary) for run, summary in pairs)


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


def remember_runs(host: str, runs: Iterable[Run], summaries: dict[str, Summary]) -> None:
    """Brings the index up to date. It is never the truth, so a failure is only told."""
    try:
        with open_index(index_path(os.environ), say=_tell) as index:
            index.rebuild(host, [_index_run(run, summaries.get(run.label.id)) for run in runs])
    except StoreError as error:
        _tell(str(error))


def _index_run(run: Run, summary: Summary | None) -> IndexedRun:
    launched = run.manifest.launched
    return IndexedRun(
        host=run.label.host,
        id=run.label.id,
        name=run.label.name,
        folder=run.folder,
        engine=run.spec.engine,
        model=run.spec.model,
        verdict=summary.verdict if summary else None,
        cause=summary.cause if summary else None,
        stage=summary.stage if summary else None,
        started_ns=launched.wall_ns if launched else None,
        ended_ns=summary.ended_ns if summary else None,
    )


def _tell(text: str) -> None:
    sys.stderr.write(f"firedup: {text}\n")
