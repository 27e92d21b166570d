"""One acceptance length, wherever it is asked for: table, verdict, positions, time of a step."""

from __future__ import annotations

from dataclasses import replace

import pytest

from firedup.core.measure.acceptance import Counts, Source, acceptance_of
from firedup.core.measure.accepted import (
    acceptance_length_of,
    counted,
    counts_of,
    evidence_of,
    positions_of_cell,
)
from firedup.core.measure.counter import Rise
from firedup.core.measure.figures import figures_of
from firedup.core.measure.measured import Arm, Cell, Conditions, Load, Request
from firedup.core.measure.stepcost import step_time_of

MS = 1_000_000
SERVER = Counts(400, 1200, 300, (200, 70, 30))  # a length of 1.75
OWN = Counts(20, 60, 50, (20, 17, 13))  # one of 3.5


def make_cell(source: Source, *, whose: int, count: int = 20) -> Cell:
    """Answers of 100 tokens at 10 ms each; `whose` of them have counters of their own."""
    requests = tuple(
        Request(
            f"p{n}",
            "chat",
            n * 2000 * MS,
            n * 2000 * MS + 5 * MS,
            n * 2000 * MS + 1005 * MS,
            tokens=101,
            counts=OWN if n < whose else None,
        )
        for n in range(count)
    )
    told = acceptance_of(SERVER if source is Source.SERVER else OWN, source)
    return Cell(Load(1), requests, Rise(SERVER), told)


@pytest.mark.parametrize(
    ("source", "whose", "length"),
    [
        (Source.SERVER, 3, 1.75),
        (Source.SERVER, 0, 1.75),
        (Source.REQUESTS, 3, 3.5),
        (Source.BETWEEN, 20, 3.5),
    ],
)
def test_all_that_tells_an_acceptance_length_tells_the_same(
    source: Source, whose: int, length: float
) -> None:
    cell = make_cell(source, whose=whose)
    arm = Arm("candidate", Conditions(draft_tokens=3), (cell,), 0)

    verdict, counts = acceptance_length_of(cell), counts_of(cell)
    figures, positions = figures_of(cell), positions_of_cell(cell, 3)

    assert verdict is not None
    assert counts is not None
    assert positions is not None
    assert verdict.value == pytest.approx(length)
    assert 1 + counts.accepted / counts.steps == pytest.approx(length)
    assert 1 + sum(positions.reached) == pytest.approx(length)
    assert evidence_of(arm).positions == positions.reached
    assert step_time_of(cell) == pytest.approx(0.01 * length)
    assert figures.whole.step_s is not None
    assert figures.whole.step_s.value == pytest.approx(0.01 * length)
    assert figures.whole.acceptance_length == (None if source is Source.SERVER else verdict)
    told_by_category = figures.categories["chat"].acceptance_length
    assert (told_by_category is None) == (source is Source.SERVER)
    assert bool(evidence_of(arm).categories) == (source is not Source.SERVER)


def test_three_of_twenty_give_a_length_and_no_interval() -> None:
    whole = figures_of(make_cell(Source.REQUESTS, whose=3)).whole

    for one in (whole.acceptance_length, whole.step_s):
        assert one is not None
        assert (one.low, one.high, one.count) == (None, None, 3)
    assert whole.tokens_per_s is not None
    assert whole.tokens_per_s.low is not None


def test_made_up_counters_are_the_requests_own_only_where_all_have_them() -> None:
    some, whole = (
        replace(
            make_cell(Source.REQUESTS, whose=whose),
            acceptance=replace(acceptance_of(OWN, ""), length=None, why_not="simulated"),
        )
        for whose in (3, 20)
    )

    assert (len(counted(some)), len(counted(whole))) == (0, 20)
    assert step_time_of(some) == pytest.approx(0.0175)
    assert acceptance_length_of(whole) is None


def test_a_prompt_that_was_asked_often_is_one() -> None:
    cell = make_cell(Source.REQUESTS, whose=20)
    often = replace(cell, requests=cell.requests * 3)

    once, again = figures_of(cell).whole, figures_of(often).whole

    for name in ("tokens_per_s", "tpot_s", "ttft_s", "acceptance_length", "step_s"):
        one, other = getattr(once, name), getattr(again, name)
        assert (other.value, other.count) == (pytest.approx(one.value), 20)
    assert again.requests == 60
