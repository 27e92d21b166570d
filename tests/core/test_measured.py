"""What one request's times tell."""

from __future__ import annotations

from dataclasses import replace

import pytest

from firedup.core.measure.measured import Cell, Load, Request

MS = 1_000_000
ONE = Request("p", "chat", 0, 100 * MS, 400 * MS, tokens=61, events=61, first_tokens=1, arrivals=61)


def test_the_pace_is_that_after_the_first_piece() -> None:
    assert ONE.ttft_s == pytest.approx(0.1)
    assert ONE.tpot_s == pytest.approx(0.005)
    assert ONE.tokens_per_s == pytest.approx(200)


@pytest.mark.parametrize("arrivals", [1, 2])
def test_an_answer_that_came_in_a_burst_has_no_pace(arrivals: int) -> None:
    late = replace(ONE, arrivals=arrivals, last_ns=ONE.first_ns)

    assert late.is_burst
    assert late.tpot_s is None
    assert late.tokens_per_s is None


@pytest.mark.parametrize(("arrivals", "is_burst"), [(3, True), (7, True), (8, False), (16, False)])
def test_a_few_moments_for_many_pieces_are_a_burst(arrivals: int, is_burst: bool) -> None:
    assert replace(ONE, arrivals=arrivals).is_burst == is_burst
    assert not replace(ONE, events=10, arrivals=arrivals).is_burst


def test_what_came_at_the_first_moment_is_not_divided_by() -> None:
    # Twenty of 61 pieces were there at once: forty tokens took the 300 ms.
    counted = replace(ONE, first_tokens=21, first_events=20)
    guessed = replace(ONE, tokens=121, first_tokens=None, first_events=21)

    assert counted.tpot_s == pytest.approx(0.3 / 40)
    assert guessed.later_tokens == 80
    assert replace(guessed, first_events=1).later_tokens == 120
    assert replace(ONE, tokens=None).tpot_s is None


@pytest.mark.parametrize(("bursts", "is_held_back"), [(0, False), (2, False), (3, True)])
def test_where_most_answers_are_bursts_all_were_held_back(bursts: int, is_held_back: bool) -> None:
    answers = [replace(ONE, prompt=f"p{n}", arrivals=2 if n < bursts else 61) for n in range(4)]
    failed = replace(ONE, arrivals=1, error="it broke")

    assert Cell(Load(1), (*answers, failed)).is_held_back == is_held_back


def test_a_short_answer_may_come_at_two_moments() -> None:
    short = replace(ONE, tokens=7, events=2, first_tokens=3, arrivals=2)

    assert not short.is_burst
    assert short.tpot_s == pytest.approx(0.075)
