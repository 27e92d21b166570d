"""Keeps the client's index of runs up to date; a failure of it is told and does no harm."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace

from firedup.core.error import StoreError
from firedup.core.forecast import StageTime
from firedup.core.model import Snapshot
from firedup.core.verdict.etatimes import ready_after_s, stage_times
from firedup.host.address import name_host
from firedup.session.registry import Run
from firedup.session.summary import Summary
from firedup.store.index import Index, IndexedRun, index_path, open_index


def remember_runs(host: str, runs: Iterable[tuple[Run, Summary | None]]) -> None:
    """Lets the index say of `host` what these run folders, which are all of them, say."""
    found = [_from_summary(run, summary) for run, summary in runs]

    def rebuild(index: Index) -> None:
        names = {run.host for run in index.runs()}
        for other in (name for name in names - {host} if name_host(name) == host):
            index.rebuild(other, ())  # the same host, as an older firedup called it
        index.rebuild(host, found)

    _change(rebuild)


def remember_run(run: Run, last: Snapshot | None) -> None:
    """Adds one run, with the conclusion of a watch where there is one."""
    found = _from_summary(run, None)
    if last is not None:
        explanation = last.explanation
        cause = explanation.cause.failure if explanation.cause else None
        found = replace(
            found,
            verdict=explanation.verdict,
            stage=explanation.stage,
            cause=cause,
            version=explanation.version,
            ready_after_s=ready_after_s(last),
            served_s=explanation.served_s,
            stages=_write_stages(stage_times(last)),
        )
    _change(lambda index: index.put([found]))


def forget_runs(host: str, runs: Iterable[Run]) -> None:
    """Takes out runs whose folders are gone."""
    ids = [run.label.id for run in runs]
    _change(lambda index: index.forget(host, ids))


def _from_summary(run: Run, summary: Summary | None) -> IndexedRun:
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
        version=summary.version if summary else None,
        ready_after_s=summary.ready_after_s if summary else None,
        served_s=summary.served_s if summary else None,
        stages=_write_stages(summary.stages) if summary else None,
    )


def _write_stages(stages: Iterable[StageTime]) -> str:
    times = [[time.stage, round(time.began_s, 3), round(time.seconds, 3)] for time in stages]
    return json.dumps(times)


def _change(change: Callable[[Index], None]) -> None:
    try:
        with open_index(index_path(os.environ), say=_tell) as index:
            change(index)
    except StoreError as error:
        from firedup.cli.complaint import render_error

        _tell(render_error(error))


def _tell(text: str) -> None:
    sys.stderr.write(f"firedup: {text}\n")
