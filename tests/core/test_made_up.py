"""Made-up acceptance: no verdict and no length follow from it, the time of a step does."""

from __future__ import annotations

import pytest

from firedup.core.measure.acceptance import Counts
from firedup.core.measure.accepted import acceptance_length_of
from firedup.core.measure.counter import Rise
from firedup.core.measure.figures import figures_of
from firedup.core.measure.judged import judge_arms
from firedup.core.measure.measured import Arm, Cell, Conditions, Load, Request
from firedup.core.measure.pairing import Design
from firedup.core.measure.simulated import SIMULATED
from firedup.core.model import Acceptance

MS = 1_000_000
MADE_UP = Acceptance(None, None, why_not=f"{SIMULATED}: --spec-synth-len 2.5")
REAL = Acceptance(2.5, 0.5, source="the server's counters")


def make_arm(
    name: str,
    token_ms: int,
    acceptance: Acceptance | None = None,
    counts: Counts | None = None,
    rise: Rise | None = None,
) -> Arm:
    """Twelve answers of 101 tokens."""
    requests = tuple(
        Request(f"p{n}", "chat", 0, 5 * MS, (5 + 100 * token_ms) * MS, 9, 101, 40, 1, counts=counts)
        for n in range(12)
    )
    cell = Cell(Load(1), requests, rise, acceptance)
    return Arm(name, Conditions("llama-cpp", draft_tokens=3), (cell,), 0)


def test_no_verdict_follows_from_a_speed_that_is_made_up() -> None:
    counts = Counts(40, 120, 60)
    baseline = make_arm("baseline", 10)

    made_up = judge_arms(
        baseline, make_arm("candidate", 5, MADE_UP, counts), Design.INTERLEAVED, share=1.0
    )
    real = judge_arms(
        baseline, make_arm("candidate", 5, REAL, counts), Design.INTERLEAVED, share=1.0
    )

    assert made_up.decisions == ()
    assert [one.load for one in made_up.unmeasured] == [Load(1)]
    assert len(real.decisions) == 1


def test_the_time_of_a_step_is_shown_and_the_acceptance_length_is_not() -> None:
    cell = make_arm("candidate", 5, MADE_UP, Counts(40, 120, 60)).cells[0]

    figures = figures_of(cell).whole

    assert figures.acceptance_length is None
    assert acceptance_length_of(cell) is None
    assert figures.step_s is not None
    assert figures.step_s.value == pytest.approx(0.0125)


def test_counters_of_all_streams_together_give_the_time_of_a_step_too() -> None:
    rise = Rise(Counts(400, 1200, 600), 1000, own=1000)
    cell = make_arm("candidate", 5, REAL, None, rise).cells[0]

    step_s = figures_of(cell).whole.step_s

    assert step_s is not None
    assert step_s.value == pytest.approx(0.0125)
