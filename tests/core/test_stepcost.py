"""The time of a step over the number of draft tokens, also from made-up acceptance."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firedup.core.measure.acceptance import Counts
from firedup.core.measure.measured import Arm, Cell, Conditions, Load, Request
from firedup.core.measure.stepcost import choose_alike, fit_step_cost, step_time_of
from firedup.core.model import Acceptance

MADE_UP = Acceptance(None, None, why_not="the server's acceptance is simulated: a flag")
SHARES = (0.7, 0.5, 0.3, 0.1, 0.05)
NS = 1_000_000_000


def make_arm(draft_tokens: int, step_s: float, *, is_made_up: bool = False) -> Arm:
    """Eight answers of 100 steps, each of which takes `step_s`."""
    positions = tuple(round(100 * share) for share in SHARES[:draft_tokens])
    counts = Counts(100, 100 * draft_tokens, sum(positions), positions)
    tokens = 100 + counts.accepted + 1
    requests = tuple(
        Request(f"p{n}", "chat", 0, 0, round(100 * step_s * NS), 9, tokens, 101, 1, counts=counts)
        for n in range(8)
    )
    length = 1 + counts.accepted / 100
    accepted = MADE_UP if is_made_up else Acceptance(length, 0.5, source="own")
    conditions = Conditions("sglang", "0.5.23", draft_tokens=draft_tokens)
    return Arm("candidate", conditions, (Cell(Load(1), requests, None, accepted),), 0)


def test_a_step_is_time_per_token_times_tokens_a_step() -> None:
    assert step_time_of(make_arm(3, 0.02).cells[0]) == pytest.approx(0.02)
    assert step_time_of(make_arm(3, 0.02, is_made_up=True).cells[0]) == pytest.approx(0.02)


def test_the_line_and_the_best_number_follow_from_several_measurements() -> None:
    arms = [make_arm(k, 0.010 + 0.002 * k) for k in (1, 3, 5)]

    cost = fit_step_cost(arms, Load(1))

    assert cost is not None
    assert cost.base_s == pytest.approx(0.010)
    assert cost.per_token_s == pytest.approx(0.002)
    assert cost.worst == pytest.approx(0, abs=1e-6)
    # 1.7/12, 2.2/14, 2.5/16, 2.6/18 tokens a millisecond: the second is the best.
    assert cost.best == 2
    assert cost.tokens_per_s(2) == pytest.approx(2.2 / 0.014)


def test_made_up_acceptance_gives_the_cost_and_no_best_number() -> None:
    arms = [make_arm(k, 0.010 + 0.002 * k, is_made_up=True) for k in (2, 4)]

    cost = fit_step_cost(arms, Load(1))

    assert cost is not None
    assert cost.per_token_s == pytest.approx(0.002)
    assert (cost.worst, cost.reached, cost.best) == (None, (), None)


def test_one_number_of_draft_tokens_makes_no_line() -> None:
    assert fit_step_cost([make_arm(3, 0.02), make_arm(3, 0.021)], Load(1)) is None
    assert fit_step_cost([make_arm(3, 0.02), make_arm(4, 0.021)], Load(8)) is None


def test_only_measurements_of_the_same_server_are_put_on_one_line() -> None:
    here = make_arm(3, 0.02)
    other = replace(here, conditions=replace(here.conditions, version="0.5.9"))
    again = replace(here, conditions=replace(here.conditions, prompts="mine", draft_tokens=5))

    assert choose_alike(here, [other, again]) == (again,)


@given(st.floats(0.001, 0.1), st.floats(0.0001, 0.01), st.sets(st.integers(1, 5), min_size=2))
def test_points_on_a_line_give_that_line(base: float, slope: float, numbers: set[int]) -> None:
    cost = fit_step_cost([make_arm(k, base + slope * k) for k in numbers], Load(1))

    assert cost is not None
    assert cost.base_s == pytest.approx(base, rel=1e-3, abs=1e-6)
    assert cost.per_token_s == pytest.approx(slope, rel=1e-2, abs=1e-6)
