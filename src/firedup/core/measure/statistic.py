"""Figures with intervals: a bootstrap over whole prompts, since tokens of one prompt are alike."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from math import ceil, comb, floor, isfinite, nan, sqrt
from statistics import NormalDist, median

from firedup.core.measure.measured import Estimate
from firedup.core.measure.student import student_quantile

RESAMPLES = 2000
FEWEST = 5  # prompts below which an interval would be a guess

_NORMAL = NormalDist()

Row = Sequence[float]  # what one prompt adds to each of several sums
Formula = Callable[..., float]  # the sums → a figure


def estimate(
    rows: Sequence[Row],
    formula: Formula,
    *,
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Estimate | None:
    """One figure of `estimate_all`; None without rows, or where the formula divides by 0."""
    found = estimate_all(
        rows, {"it": formula}, confidence=confidence, resamples=resamples, seed=seed
    )
    return found["it"]


def estimate_all(
    rows: Sequence[Row],
    formulas: Mapping[str, Formula],
    *,
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> dict[str, Estimate | None]:
    """Figures of sums over prompts, with intervals from one series of resamples.

    Each row is one prompt's part of the sums, each formula takes the sums and gives a figure: with
    rows of (accepted, steps), `lambda a, n: 1 + a / n` is the acceptance length. Whole prompts are
    drawn again, so what is alike within one does not make the interval narrower. Percentiles are
    widened for few prompts as Student's t is against the normal. Below FEWEST there is none.
    """
    if not rows:
        return dict.fromkeys(formulas)
    sums = [sum(column) for column in zip(*rows, strict=True)]
    values = {name: _value(formula, sums) for name, formula in formulas.items()}
    drawn: dict[str, list[float]] = {name: [] for name in formulas}
    if len(rows) >= FEWEST:
        for again in _resample(rows, resamples, seed):
            for name, formula in formulas.items():
                value = _value(formula, again)
                if isfinite(value):
                    drawn[name].append(value)
    tail = _tail(confidence, len(rows))
    return {
        name: _estimate(value, drawn[name], tail, confidence, len(rows))
        for name, value in values.items()
    }


def estimate_median(
    groups: Sequence[Sequence[float]], *, confidence: float = 0.95
) -> Estimate | None:
    """The median of prompts, each with the median of its own values; None without values.

    Its interval is between two of the values in their order, by how many of them lie below a true
    median by chance; with too few for that there is none. Nothing needs to be drawn again.
    """
    values = sorted(median(group) for group in groups if group)
    if not values:
        return None
    count, value = len(values), median(values)
    below, tail = 0, 0.5**count  # of the outermost value: all of the others on one side
    while 2 * tail <= 1 - confidence:
        below += 1
        tail += comb(count, below) * 0.5**count
    if not below:
        return Estimate(value, confidence=confidence, count=count)
    return Estimate(value, values[below - 1], values[-below], confidence, count)


def _resample(rows: Sequence[Row], resamples: int, seed: int) -> list[list[float]]:
    """The sums of as many rows as there are, drawn with replacement, again and again."""
    draw = random.Random(seed)  # noqa: S311 - a seeded draw, no secret
    count = len(rows)
    return [
        [sum(column) for column in zip(*draw.choices(rows, k=count), strict=True)]
        for _ in range(resamples)
    ]


def _value(formula: Formula, sums: Sequence[float]) -> float:
    try:
        return formula(*sums)
    except ZeroDivisionError:
        return nan


def _tail(confidence: float, count: int) -> float:
    """The share of resamples outside on either side together, for `count` prompts.

    A resample's spread is too small by (n − 1) ÷ n, and its percentiles know nothing of Student's
    t; both are mended by taking percentiles further out.
    """
    if count < FEWEST:
        return 0.0
    wide = sqrt(count / (count - 1)) * student_quantile(1 - confidence, count - 1)
    return 2 * _NORMAL.cdf(-wide)


def _estimate(
    value: float, drawn: list[float], tail: float, confidence: float, count: int
) -> Estimate | None:
    if not isfinite(value):
        return None
    if not drawn:
        return Estimate(value, confidence=confidence, count=count)
    low, high = _ends(drawn, tail)
    return Estimate(value, low, high, confidence, count)


def _ends(drawn: list[float], tail: float) -> tuple[float, float]:
    drawn.sort()
    last = len(drawn) - 1
    return drawn[floor(tail / 2 * last)], drawn[ceil((1 - tail / 2) * last)]
