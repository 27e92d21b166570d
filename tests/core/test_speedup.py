"""The arithmetic of a drafter's worth."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firedup.core.measure.speedup import Speedup, assume, solve
from firedup.view.speedup import describe_speed_up, render_speedup

FIGURES = st.floats(1, 1000)
KIMI = solve(82, speed=52, acceptance_length=1.5)


def test_a_published_drafter_on_another_target_is_a_loss_that_its_figures_explain() -> None:
    assert round(1000 * KIMI.step_s, 1) == 28.8
    assert round(1000 * KIMI.plain_step_s, 1) == 12.2
    assert round(KIMI.step_ratio, 2) == 2.37
    assert round(KIMI.break_even, 2) == 2.37
    assert round(KIMI.doubling, 2) == 4.73
    assert round(KIMI.speed_up, 2) == 0.63


@pytest.mark.parametrize(
    ("assumption", "speed", "speed_up", "length"),
    [
        ("accept=3.2", 111, 1.35, 3.2),
        ("accept=3.5", 121, 1.48, 3.5),
        ("speed=60", 60, 0.73, 1.73),
        ("step=12.2ms", 123, 1.5, 1.5),
    ],
)
def test_an_assumption_changes_one_figure_and_what_follows_from_it(
    assumption: str, speed: int, speed_up: float, length: float
) -> None:
    found = assume(KIMI, assumption)

    assert (round(found.speed), round(found.speed_up, 2)) == (speed, speed_up)
    assert round(found.acceptance_length, 2) == length


@given(FIGURES, FIGURES, FIGURES)
def test_two_of_three_tell_the_third(baseline: float, speed: float, length: float) -> None:
    whole = Speedup(baseline, speed, length)
    by_step = solve(baseline, speed=speed, step_s=whole.step_s)
    by_length = solve(baseline, acceptance_length=length, step_s=whole.step_s)

    assert by_step.acceptance_length == pytest.approx(length)
    assert by_length.speed == pytest.approx(speed)
    assert whole.speed_up == pytest.approx(whole.acceptance_length / whole.step_ratio)


@pytest.mark.parametrize(
    ("given_figures", "words"),
    [
        ({"speed": 52.0}, "only the speed is given"),
        ({}, "none of them is given"),
        ({"speed": 52.0, "acceptance_length": 0.5}, "at least 1"),
        ({"speed": 52.0, "acceptance_length": 1.5, "step_s": 0.02}, "steps of 28.8 ms, not 20.0"),
        ({"speed": 52.0, "acceptance_length": 4.5, "draft_tokens": 3}, "4 at most"),
    ],
)
def test_what_cannot_be_is_refused(given_figures: dict[str, float], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        solve(82, **given_figures)  # type: ignore[arg-type]  # of several types


@pytest.mark.parametrize("text", ["accept", "accept=0", "accept=3ms", "k=3", "speed=20"])
def test_an_assumption_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"no assumption|at least 1|between 1 and"):
        assume(KIMI, text)


def test_no_drafter_pays_where_even_a_perfect_one_loses() -> None:
    text = " ".join(render_speedup(solve(82, speed=20, acceptance_length=1.5, draft_tokens=3)))

    assert "no drafter pays here" in text


@given(st.floats(0.01, 100))
def test_what_is_not_faster_is_never_called_so(ratio: float) -> None:
    text = describe_speed_up(ratio)

    assert ("faster" in text) == (ratio >= 1.005)
    assert ("loss" in text) == (ratio < 1.005)
