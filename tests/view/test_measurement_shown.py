"""All that is said of a measurement: also that it was cut short, and what somebody believed."""

from __future__ import annotations

import json

import pytest

from firedup.cli.compared import tell_probed
from firedup.core.judged import judge_arms
from firedup.core.measured import Arm, Cell, Conditions, Load, Request
from firedup.core.pairing import Design
from firedup.session.probe import Probed
from firedup.view.measurement import record_measurement, render_measurement
from firedup.view.paper import Paper

MS = 1_000_000


def make_arm(name: str, token_ms: int, count: int) -> Arm:
    requests = tuple(
        Request(f"p{n}", "chat", 0, 5 * MS, (5 + 100 * token_ms + n) * MS, 9, 101, 101, 1)
        for n in range(count)
    )
    return Arm(name, Conditions("sglang", host="box"), (Cell(Load(1), requests),), 0)


BASELINE, CANDIDATE = make_arm("baseline", 10, 12), make_arm("candidate", 20, 8)


@pytest.mark.parametrize(
    ("share", "says"),
    [(0.2, "nothing was left that more answers would decide"), (None, "time was up")],
)
def test_a_measurement_that_was_cut_short_says_so(share: float | None, says: str) -> None:
    judged = share and judge_arms(BASELINE, CANDIDATE, Design.SEQUENTIAL, share=share)
    arms = (CANDIDATE, BASELINE, judged or None)

    short = render_measurement(*arms, Paper(80), is_cut_short=True)
    whole = render_measurement(*arms, Paper(80))

    assert any(f"not all was asked: {says}" in line for line in short)
    assert not any("not all was asked" in line for line in whole)
    assert record_measurement(*arms, Design.SEQUENTIAL, is_cut_short=True)["cut_short"] is True


def test_programs_are_told_which_accuracy_was_taken_for_acceptance(
    capsys: pytest.CaptureFixture[str],
) -> None:
    judged = judge_arms(BASELINE, CANDIDATE, Design.SEQUENTIAL, share=1)
    found = Probed(CANDIDATE, BASELINE, Design.SEQUENTIAL, judged)

    assert tell_probed(found, None, as_json=True, accuracy=0.747) == 1

    assert json.loads(capsys.readouterr().out)["decision"]["validation_accuracy"] == 0.747


def test_without_a_baseline_nothing_is_called_a_candidate() -> None:
    lines = render_measurement(CANDIDATE, None, None, Paper(80), name="plain")

    assert not any("candidate" in line for line in lines)
    assert any(line.split() == ["plain"] for line in lines)


def test_a_verdict_from_fewer_answers_than_the_table_has_says_so() -> None:
    judged = judge_arms(BASELINE, CANDIDATE, Design.SEQUENTIAL, share=1)
    same = judge_arms(CANDIDATE, CANDIDATE, Design.SEQUENTIAL, share=1)

    fewer = " ".join(render_measurement(CANDIDATE, BASELINE, judged, Paper(80)))
    whole = " ".join(render_measurement(CANDIDATE, CANDIDATE, same, Paper(80)))

    assert "compares only prompts that both answered (8)" in fewer
    assert "both answered" not in whole
