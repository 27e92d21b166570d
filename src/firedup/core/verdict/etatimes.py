"""A snapshot → where the start is now, and the times of a start that came up."""

from __future__ import annotations

from firedup.core.forecast import StageTime, StartTimes
from firedup.core.model import Explanation, Snapshot, Stage, StageSpan
from firedup.core.verdict.etastart import Present

_NS = 1_000_000_000
_NO_TIME = (Stage.READY, Stage.SERVING)


def times_of(snapshot: Snapshot) -> StartTimes | None:
    """How long the start took and its stages did; None while it has not come up, or if not seen."""
    ready_s = ready_after_s(snapshot)
    if ready_s is None:
        return None
    times = tuple(time for time in stage_times(snapshot) if time.began_s <= ready_s)
    return StartTimes(ready_s, times)


def ready_after_s(snapshot: Snapshot) -> float | None:
    """How long the start took until it was proved ready; where nobody asked, by its own log.

    None for a server that was asked and did not show what its log says.
    """
    span = _span_of(snapshot.explanation, Stage.READY)
    if snapshot.ready_after_s is not None or span is None or snapshot.is_refuted:
        return snapshot.ready_after_s
    began_s = _began_s(snapshot, span)
    return None if began_s is None else max(0.0, began_s)


def stage_times(snapshot: Snapshot) -> tuple[StageTime, ...]:
    """The stages that are over, up to ready; without those that only the log's own clock dates."""
    times = []
    for span in snapshot.explanation.stages:
        began_s = _began_s(snapshot, span)
        if began_s is not None and span.seconds is not None and span.stage not in _NO_TIME:
            times.append(StageTime(span.stage, max(0.0, began_s), span.seconds))
    return tuple(times)


def present_of(snapshot: Snapshot, *, read_bytes: int = 0, whole_bytes: int = 0) -> Present:
    """Where the start is at `snapshot`.

    `read_bytes` are what its processes have read of the `whole_bytes` of its checkpoint; they count
    while weights are loaded and no bar shows how far that is.
    """
    stage = snapshot.explanation.stage
    began_s = _stage_began_s(snapshot, stage)
    stage_s = None if began_s is None else max(0.0, snapshot.elapsed_s - began_s)
    here = Present(snapshot.elapsed_s, stage, stage_s)
    progress = snapshot.progress
    if progress is not None and progress.stage is stage and progress.total > 0:
        # A full bar says nothing: what it counts is often the quick part.
        fraction = None if progress.done >= progress.total else progress.fraction
        return Present(
            snapshot.elapsed_s, stage, stage_s, fraction, progress.remaining_s, basis="bar"
        )
    if stage is Stage.LOAD_WEIGHTS and stage_s and 0 < read_bytes < whole_bytes:
        fraction = read_bytes / whole_bytes
        rest_s = stage_s / fraction * (1 - fraction)
        return Present(snapshot.elapsed_s, stage, stage_s, fraction, rest_s, basis="bytes")
    return here


def _stage_began_s(snapshot: Snapshot, stage: Stage | None) -> float | None:
    """When the present stage began, in seconds since the launch; its first part counts."""
    span = _span_of(snapshot.explanation, stage)
    if span is None:
        return None
    return _began_s(snapshot, span)


def _span_of(explanation: Explanation, stage: Stage | None) -> StageSpan | None:
    return next((span for span in explanation.stages if span.stage is stage), None)


def _began_s(snapshot: Snapshot, span: StageSpan) -> float | None:
    if span.clock != "host" or span.started_ns is None or snapshot.wall_ns is None:
        return None
    return snapshot.elapsed_s - (snapshot.wall_ns - span.started_ns) / _NS
