"""Figures with intervals: what they promise, they hold on data whose truth is known."""

from __future__ import annotations

import random
from math import log, sqrt
from statistics import NormalDist, fmean, variance

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firedup.core.measure.statistic import FEWEST, estimate, estimate_all, estimate_median
from firedup.core.measure.student import pooled_degrees, student_quantile, student_tail

LENGTH = "acceptance length"
ROWS = st.lists(st.tuples(st.integers(0, 300), st.integers(1, 100)), min_size=FEWEST, max_size=20)


def acceptance(accepted: float, steps: float) -> float:
    return 1 + accepted / steps


@pytest.mark.parametrize(
    ("tail", "degrees", "value"),
    # From printed tables.
    [(0.05, 1, 12.706), (0.05, 5, 2.571), (0.01, 10, 3.169), (0.001, 30, 3.646), (0.1, 2, 2.920)],
)
def test_quantiles_of_student_are_those_of_the_tables(
    tail: float, degrees: float, value: float
) -> None:
    assert student_quantile(tail, degrees) == pytest.approx(value, abs=5e-4)


@given(st.floats(1e-6, 0.9), st.floats(0.5, 1e4))
def test_a_quantile_has_its_tail(tail: float, degrees: float) -> None:
    assert student_tail(student_quantile(tail, degrees), degrees) == pytest.approx(tail, rel=1e-6)


def test_many_degrees_are_the_normal_distribution() -> None:
    normal = NormalDist().inv_cdf(0.975)

    assert student_quantile(0.05, 1e5) == pytest.approx(normal, rel=1e-4)
    assert student_quantile(0.05, 1e9) == pytest.approx(normal)
    assert student_quantile(0, 10) == student_quantile(0.05, 0) == float("inf")


def test_degrees_of_two_equal_variances_add_up() -> None:
    assert pooled_degrees(((2.0, 5), (2.0, 5))) == pytest.approx(10)
    assert pooled_degrees(((2.0, 5), (0.0, 3))) == pytest.approx(5)


def test_acceptance_length_is_of_all_steps_and_not_a_mean_of_prompts() -> None:
    found = estimate([(100, 100), (0, 10)], acceptance)

    assert found is not None
    assert found.value == pytest.approx(1 + 100 / 110)


def test_few_prompts_have_a_figure_and_no_interval() -> None:
    found = estimate([(3, 2)] * (FEWEST - 1), acceptance)

    assert found is not None
    assert (found.value, found.low, found.high, found.count) == (2.5, None, None, FEWEST - 1)


def test_nothing_measured_is_no_figure() -> None:
    assert estimate([], acceptance) is None
    assert estimate([(0, 0)] * 9, acceptance) is None
    assert estimate_median([[], []]) is None


def test_the_same_seed_gives_the_same_interval() -> None:
    rows = [(n % 7, n % 3 + 1) for n in range(30)]

    assert estimate(rows, acceptance, seed=4) == estimate(rows, acceptance, seed=4)
    assert estimate(rows, acceptance, seed=4) != estimate(rows, acceptance, seed=5)


@settings(max_examples=25)
@given(ROWS, st.floats(0.01, 100))
def test_seconds_in_another_unit_change_nothing(rows: list[tuple[int, int]], factor: float) -> None:
    found = estimate(rows, lambda a, b: a / b, resamples=200)
    scaled = estimate([(factor * a, b) for a, b in rows], lambda a, b: a / b, resamples=200)

    assert found is not None
    assert scaled is not None
    for one, other in ((found.value, scaled.value), (found.low, scaled.low)):
        assert one is not None
        assert other == pytest.approx(factor * one)


@settings(max_examples=25)
@given(ROWS)
def test_the_figure_lies_between_the_extremes_of_its_prompts(rows: list[tuple[int, int]]) -> None:
    found = estimate(rows, acceptance, resamples=200)

    assert found is not None
    assert found.low is not None
    assert found.high is not None
    lengths = [acceptance(*row) for row in rows]
    assert min(lengths) - 1e-9 <= found.low <= found.high <= max(lengths) + 1e-9


def test_prompts_that_are_alike_within_give_no_narrower_interval_by_more_requests() -> None:
    draw = random.Random(3)
    lengths = [draw.gauss(2, 0.5) for _ in range(20)]
    once = estimate_median([[length] for length in lengths])
    often = estimate_median([[length] * 50 for length in lengths])

    assert once == often


@pytest.mark.parametrize(
    # From printed tables of the sign test: how many values are cut off at either end.
    ("count", "low", "high"),
    [(5, None, None), (6, 0, 5), (9, 1, 7), (20, 5, 14), (42, 14, 27)],
)
def test_the_interval_of_a_median_lies_between_two_of_the_values(
    count: int, low: int | None, high: int | None
) -> None:
    found = estimate_median([[value] for value in range(count)])

    assert found is not None
    assert (found.value, found.low, found.high) == ((count - 1) / 2, low, high)


def make_rows(draw: random.Random, count: int) -> list[tuple[float, float]]:
    """Prompts of 30 steps; how many drafts each step accepts depends on the prompt. Mean: 1.5."""
    rates = [max(0.0, draw.gauss(1.5, 0.6)) for _ in range(count)]
    return [(max(0.0, draw.gauss(30 * rate, 4)), 30) for rate in rates]


@pytest.mark.parametrize(("count", "least"), [(6, 0.88), (40, 0.90)])
def test_an_interval_holds_the_truth_as_often_as_it_says(count: int, least: float) -> None:
    draw = random.Random(11)
    big = make_rows(draw, 30_000)
    truth = 1 + sum(a for a, _ in big) / sum(n for _, n in big)
    held = 0
    for trial in range(200):
        found = estimate(make_rows(draw, count), acceptance, resamples=250, seed=trial)
        assert found is not None
        assert found.low is not None
        assert found.high is not None
        held += found.low <= truth <= found.high

    # 95 % of 200, less four standard deviations.
    assert least <= held / 200 <= 1


def test_the_bootstrap_agrees_with_the_delta_method() -> None:
    draw = random.Random(5)
    rows = [(draw.lognormvariate(0, 0.3), draw.lognormvariate(0, 0.2)) for _ in range(150)]
    found = estimate(rows, lambda a, b: a / b)
    before, after = (sum(column) for column in zip(*rows, strict=True))
    pulls = [a / before - b / after for a, b in rows]
    reach = 1.976 * sqrt(variance(pulls) * len(pulls))  # Student's t of 149 degrees

    assert found is not None
    assert found.low is not None
    assert found.high is not None
    assert (log(found.high) - log(found.low)) / 2 == pytest.approx(reach, rel=0.08)
    assert fmean([log(found.high), log(found.low)]) == pytest.approx(log(found.value), abs=0.01)


def test_several_figures_come_from_one_series() -> None:
    found = estimate_all(
        [(n % 5, 4, 2 * (n % 5)) for n in range(20)],
        {LENGTH: lambda a, n, _: 1 + a / n, "twice": lambda _a, n, b: 1 + b / n / 2},
    )

    assert found[LENGTH] == found["twice"]
