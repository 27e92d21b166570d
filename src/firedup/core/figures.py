"""The figures of one arm under one load, each with its interval, in all and by category."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from firedup.core.acceptance import Counts
from firedup.core.measured import Cell, Estimate, Request
from firedup.core.pairing import decoding_of
from firedup.core.statistic import estimate_all, estimate_median

_NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Figures:
    """What was measured of some requests; None where it cannot be said.

    Speeds are of one stream while it decodes: `tokens_per_s`, its inverse `tpot_s`, and `step_s`,
    the time of a verify step. `ttft_s` is a median. `acceptance_length` is by the requests' own
    counters. `all_tokens_per_s` is what all streams together gave from the first request to the
    last answer, prefill included.
    """

    requests: int
    tokens: int
    tokens_per_s: Estimate | None = None
    tpot_s: Estimate | None = None
    ttft_s: Estimate | None = None
    acceptance_length: Estimate | None = None
    step_s: Estimate | None = None
    all_tokens_per_s: float | None = None


@dataclass(frozen=True, slots=True)
class CellFigures:
    """The figures of a cell, and those of each category in it."""

    whole: Figures
    categories: Mapping[str, Figures] = field(default_factory=dict)
    failed: int = 0
    warm_up: int = 0


def figures_of(cell: Cell, *, seed: int = 0) -> CellFigures:
    """All figures of `cell`; requests that failed or warmed up are counted and left out."""
    kept = cell.kept
    names = dict.fromkeys(sorted(request.category for request in kept))
    # Made-up acceptance is not the drafter's; what a step costs follows from it all the same.
    is_shown = cell.acceptance is None or cell.acceptance.length is not None
    by_category = {
        name: _figures([one for one in kept if one.category == name], seed, is_shown=is_shown)
        for name in names
    }
    failed = sum(one.error is not None and not one.is_warm_up for one in cell.requests)
    warm_up = sum(one.is_warm_up for one in cell.requests)
    counts = cell.counters.counts if cell.counters else None
    return CellFigures(
        _figures(kept, seed, counts, is_shown=is_shown), by_category, failed, warm_up
    )


def _figures(
    requests: Sequence[Request], seed: int, together: Counts | None = None, *, is_shown: bool = True
) -> Figures:
    """Ratios of sums, each prompt a cluster: long answers count as much as they are long."""
    decoded = [part for one in requests if (part := decoding_of(one)) is not None]
    speeds = estimate_all(
        decoded, {"tokens_per_s": lambda s, n: n / s, "tpot_s": lambda s, n: s / n}, seed=seed
    )
    stepped = [
        (counts.accepted, counts.steps) for one in requests if (counts := one.counts) is not None
    ]
    length = estimate_all(stepped, {"length": lambda a, n: 1 + a / n}, seed=seed)
    both = [
        (*part, counts.accepted, counts.steps)
        for one in requests
        if (part := decoding_of(one)) is not None and (counts := one.counts) is not None
    ]
    step = estimate_all(both, {"step_s": lambda s, n, a, k: s / n * (1 + a / k)}, seed=seed)
    if step["step_s"] is None and together is not None and together.steps > 0:
        # Of all requests under way: the length has no interval, and the step's is that of speed.
        known = 1 + together.accepted / together.steps
        step = estimate_all(decoded, {"step_s": lambda s, n: s / n * known}, seed=seed)
    waits = [[one.ttft_s] for one in requests if one.ttft_s is not None]
    return Figures(
        len(requests),
        sum(one.tokens or 0 for one in requests),
        speeds["tokens_per_s"],
        speeds["tpot_s"],
        estimate_median(waits, seed=seed),
        length["length"] if is_shown else None,
        step["step_s"],
        _together(requests),
    )


def _together(requests: Sequence[Request]) -> float | None:
    """Tokens a second of all streams, visit by visit; what lies between visits is no time."""
    tokens, nanoseconds = 0, 0
    for block in {one.block for one in requests}:
        own = [one for one in requests if one.block == block and one.last_ns is not None]
        if own:
            tokens += sum(one.tokens or 0 for one in own)
            last = max(one.last_ns or 0 for one in own)
            nanoseconds += last - min(one.begun_ns for one in own)
    return tokens * _NS / nanoseconds if nanoseconds else None
