"""The figures of one arm under one load, each with its interval, in all and by category."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

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
    counters. `all_tokens_per_s` is what all streams together gave, prefill included; of a category
    it is not said, since others were asked at the same time.
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
    whole = _figures(kept, seed, counts, is_shown=is_shown)
    whole = replace(whole, all_tokens_per_s=_together(cell))
    return CellFigures(whole, by_category, failed, warm_up)


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
        estimate_median(waits),
        length["length"] if is_shown else None,
        step["step_s"],
    )


def _together(cell: Cell) -> float | None:
    """Tokens a second of all streams.

    A closed load always has a request under way, so that while there is none it is not measured:
    another load or the other arm has its turn. In an open one waiting belongs to the load, within
    a visit.
    """
    kept = sorted((one for one in cell.kept if one.last_ns), key=lambda one: one.begun_ns)
    is_closed = cell.load.rate is None
    tokens = nanoseconds = end_ns = 0
    block: int | None = None
    for one in kept:
        last_ns = one.last_ns or 0
        is_apart = one.block != block or (is_closed and one.begun_ns > end_ns)
        begun_ns = one.begun_ns if is_apart else end_ns
        tokens += one.tokens or 0
        nanoseconds += max(0, last_ns - begun_ns)
        block, end_ns = one.block, last_ns if is_apart else max(end_ns, last_ns)
    return tokens * _NS / nanoseconds if nanoseconds else None
