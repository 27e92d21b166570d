"""The stages of several nodes as those of one run, by the clock of its head."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from firedup.core.model import Stage, StageSpan
from firedup.core.node import ClockOffset

_NS = 1_000_000_000
Stages = tuple[str, ClockOffset | None, tuple[StageSpan, ...]]  # label, clock, spans of a node


def join_rank(label: str, rank: str | None) -> str:
    """What a rank of a node is called in a run of several; the node itself without one."""
    return f"{label} {rank}" if rank else label


def join_stages(
    nodes: Sequence[Stages], *, begun: Collection[Stage] | None = None
) -> tuple[StageSpan, ...]:
    """One span for each stage, over when it is so on all nodes that began it; then the nodes' own.

    The head is the first of `nodes`, and all begins are told by its wall clock. What is not
    among `begun` is left out: only some of the nodes are so far.
    """
    whole: dict[tuple[Stage, int], StageSpan] = {}
    parts: list[StageSpan] = []
    for label, clock, spans in nodes:
        times: dict[Stage, int] = {}  # a stage may be passed more than once
        for own in spans:
            if begun is not None and own.stage not in begun:
                continue
            span = _shift(own, nodes[0][1], clock)
            if span.rank is None:
                times[span.stage] = times.get(span.stage, 0) + 1
                key = (span.stage, times[span.stage])
                whole[key] = _merge(whole[key], span) if key in whole else span
            parts.append(replace(span, rank=join_rank(label, span.rank)))
    return (*whole.values(), *parts)


def _shift(span: StageSpan, head: ClockOffset | None, clock: ClockOffset | None) -> StageSpan:
    if span.started_ns is None or head is None or clock is None:
        return span
    return replace(span, started_ns=span.started_ns + head.wall_ns - clock.wall_ns)


def _merge(one: StageSpan, other: StageSpan) -> StageSpan:
    """From the earlier begin to the later end."""
    begins = [span.started_ns for span in (one, other) if span.started_ns is not None]
    began_ns = min(begins, default=None)
    seconds = None
    if one.seconds is not None and other.seconds is not None:
        seconds = max(_end_s(one, began_ns, one.seconds), _end_s(other, began_ns, other.seconds))
    return replace(one, started_ns=began_ns, seconds=seconds, is_over=one.is_over and other.is_over)


def _end_s(span: StageSpan, began_ns: int | None, seconds: float) -> float:
    """Seconds from `began_ns` to the end of `span`."""
    late_ns = 0 if began_ns is None or span.started_ns is None else span.started_ns - began_ns
    return seconds + late_ns / _NS
