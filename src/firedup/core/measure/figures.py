"""The figures of one arm under one load, each with its interval, in all and by category."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from firedup.core.measure.acceptance import Counts
from firedup.core.measure.accepted import any_counts_of, counted, length_of, rows_of, tokens_a_step
from firedup.core.measure.measured import Cell, Estimate, Request
from firedup.core.measure.pairing import decoding_of
from firedup.core.measure.statistic import FEWEST, Formula, estimate_all, estimate_median

_NS = 1_000_000_000
# Of seconds of decoding and their tokens, accepted tokens and steps.
_FORMULAS: Mapping[str, Formula] = {
    "tokens_per_s": lambda s, n, _a, _k: n / s,
    "tpot_s": lambda s, n, _a, _k: s / n,
    "step_s": lambda s, n, a, k: s / n * tokens_a_step(a, k),
    "length": lambda _s, _n, a, k: tokens_a_step(a, k),
}


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
    kept, own = cell.kept, counted(cell)
    names = dict.fromkeys(sorted(request.category for request in kept))
    # Made-up acceptance is not the drafter's; what a step costs follows from it all the same.
    is_shown = cell.acceptance is None or cell.acceptance.length is not None
    by_category = {
        name: _figures(
            [one for one in kept if one.category == name],
            [one for one in own if one.category == name],
            seed,
            is_shown=is_shown,
        )
        for name in names
    }
    failed = sum(one.error is not None and not one.is_warm_up for one in cell.requests)
    warm_up = sum(one.is_warm_up for one in cell.requests)
    together = any_counts_of(cell) if not own else None
    whole = _figures(kept, own, seed, together, is_shown=is_shown)
    whole = replace(whole, all_tokens_per_s=_together(cell))
    if cell.is_held_back:
        whole = _without_times(whole)
        by_category = {name: _without_times(one) for name, one in by_category.items()}
    return CellFigures(whole, by_category, failed, warm_up)


def _figures(
    requests: Sequence[Request],
    own: Sequence[Request],
    seed: int,
    together: Counts | None = None,
    *,
    is_shown: bool = True,
) -> Figures:
    """Ratios of sums, each prompt a cluster: long answers count as much as they are long.

    A step takes the time per token × the tokens of a step, each of all that tell it. Where counters
    are of all requests `together`, the length has no interval, and the step's is that of speed.
    """
    rows = rows_of(own)
    decoded = _decoding(requests)
    if rows:
        sums = [(*part, *rows.get(prompt, (0, 0))) for prompt, part in decoded.items()]
    else:
        known = (together.accepted, together.steps) if together is not None else (0, 0)
        sums = [(*part, *known) for part in decoded.values()]
    found = estimate_all(sums, _FORMULAS, seed=seed)
    step_s = found["step_s"]
    if step_s is not None and 0 < len(rows) < FEWEST:
        step_s = replace(step_s, low=None, high=None, count=len(rows))
    length = None
    if rows and is_shown:
        # The same draws, made once, where all prompts have both; else those that have counters.
        is_same = rows.keys() == decoded.keys()
        length = found["length"] if is_same else length_of(tuple(rows.values()))
    waits: defaultdict[str, list[float]] = defaultdict(list)
    for one in requests:
        if one.ttft_s is not None:
            waits[one.prompt].append(one.ttft_s)
    return Figures(
        len(requests),
        sum(one.tokens or 0 for one in requests),
        found["tokens_per_s"],
        found["tpot_s"],
        estimate_median(tuple(waits.values())),
        length,
        step_s,
    )


def _without_times(figures: Figures) -> Figures:
    """The same without what the moments of pieces tell: answers were held back on their way."""
    return replace(figures, tokens_per_s=None, tpot_s=None, ttft_s=None, step_s=None)


def _decoding(requests: Iterable[Request]) -> dict[str, tuple[float, int]]:
    """Seconds of decoding and the tokens that they gave, of each prompt that has them."""
    found: dict[str, tuple[float, int]] = {}
    for request in requests:
        if (part := decoding_of(request)) is not None:
            seconds, tokens = found.get(request.prompt, (0.0, 0))
            found[request.prompt] = (seconds + part[0], tokens + part[1])
    return found


def _together(cell: Cell) -> float | None:
    """Tokens a second of all streams.

    A closed load always has a request under way, so that while there is none it is not measured:
    another load or the other arm has its turn. In an open one waiting belongs to the load, within
    a visit. None where the server does not say how many tokens there were.
    """
    if any(one.tokens is None for one in cell.kept):
        return None
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
