"""What one request's times tell."""

from __future__ import annotations

from dataclasses import replace

import pytest

from firedup.core.measure.measured import Request

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


def test_a_short_answer_may_come_at_two_moments() -> None:
    short = replace(ONE, tokens=7, events=2, first_tokens=3, arrivals=2)

    assert not short.is_burst
    assert short.tpot_s == pytest.approx(0.075)
