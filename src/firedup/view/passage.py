"""The spans of stages gathered into one row per stage, with the spread over the ranks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from firedup.core.model import Explanation, Stage, StageSpan, Verdict
from firedup.view.quantity import render_count, render_duration
from firedup.view.redact import clean


@dataclass(frozen=True, slots=True)
class Passage:
    """One stage as the whole server passed it.

    `began_ns` is wall time of `clock`; `seconds` is None while it goes on; `spread` says how the
    ranks differ, or which was the last where only that is known, and is "" where they do not.
    """

    stage: Stage
    began_ns: int | None
    clock: str
    seconds: float | None
    is_over: bool
    spread: str = ""


def gather_passages(spans: Iterable[StageSpan]) -> tuple[Passage, ...]:
    """One passage per stage, in the order of the first span of each."""
    groups: dict[Stage, list[StageSpan]] = {}
    for span in spans:
        groups.setdefault(span.stage, []).append(span)
    return tuple(_gather(stage, group) for stage, group in groups.items())


def gather_startup(explanation: Explanation) -> tuple[Passage, ...]:
    """The passages on the way to ready; serving is one of them only when it went wrong there."""
    passages = gather_passages(explanation.stages)
    went_wrong = explanation.verdict in (Verdict.CRASHED, Verdict.STALLED)
    return tuple(
        passage
        for passage in passages
        if passage.stage is not Stage.SERVING or (went_wrong and passage is passages[-1])
    )


def _gather(stage: Stage, spans: list[StageSpan]) -> Passage:
    by_rank: dict[str | None, float] = {}
    for span in spans:  # a stage may be passed more than once, as for target and draft model
        if span.seconds is not None:
            by_rank[span.rank] = by_rank.get(span.rank, 0.0) + span.seconds
    whole = by_rank.pop(None, None)
    own = [span for span in spans if span.rank is None] or spans
    return Passage(
        stage=stage,
        began_ns=min((s.started_ns for s in spans if s.started_ns is not None), default=None),
        clock=spans[0].clock,
        seconds=whole if whole is not None else max(by_rank.values(), default=None),
        is_over=all(span.is_over for span in own),
        spread=_say_spread({rank: s for rank, s in by_rank.items() if rank is not None}),
    )


def _say_spread(by_rank: dict[str, float]) -> str:
    if len(by_rank) < 2:
        return "".join(f"{clean(rank)} last" for rank in by_rank)
    least = min(by_rank, key=lambda rank: by_rank[rank])
    most = max(by_rank, key=lambda rank: by_rank[rank])
    if by_rank[most] - by_rank[least] < max(0.1, 0.02 * by_rank[most]):
        return ""
    return (
        f"{render_count(len(by_rank), 'rank')}: {clean(least)} {render_duration(by_rank[least])} "
        f"to {clean(most)} {render_duration(by_rank[most])}"
    )
