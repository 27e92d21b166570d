"""All that is said of a measurement: also that it was cut short, and what somebody believed."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from firedup.cli.compared import tell_probed
from firedup.core.measure.judged import judge_arms
from firedup.core.measure.measured import Arm, Cell, Conditions, Load, Request
from firedup.core.measure.pairing import Design
from firedup.core.model import Acceptance
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


def test_a_measurement_that_ended_early_since_it_was_certain_says_so() -> None:
    judged = judge_arms(BASELINE, CANDIDATE, Design.SEQUENTIAL, share=0.2)
    arms = (CANDIDATE, BASELINE, judged)

    short = render_measurement(*arms, Paper(80), is_cut_short=True)
    whole = render_measurement(*arms, Paper(80))

    says = "  not all was asked: more answers would decide nothing at concurrency 1"
    assert says in short
    assert not any("not all was asked" in line for line in whole)
    assert record_measurement(*arms, Design.SEQUENTIAL, is_cut_short=True)["cut_short"] is True


def test_what_was_broken_off_undecided_is_not_called_decided() -> None:
    equal = make_arm("candidate", 10, 8)
    judged = judge_arms(BASELINE, equal, Design.SEQUENTIAL, share=1)

    lines = render_measurement(equal, BASELINE, judged, Paper(80), is_cut_short=True)

    assert not any("not all was asked" in line for line in lines)


def test_programs_are_told_which_accuracy_was_taken_for_acceptance(
    capsys: pytest.CaptureFixture[str],
) -> None:
    judged = judge_arms(BASELINE, CANDIDATE, Design.SEQUENTIAL, share=1)
    found = Probed(CANDIDATE, BASELINE, Design.SEQUENTIAL, judged)

    assert tell_probed(found, None, as_json=True, accuracy=0.747) == 1

    assert json.loads(capsys.readouterr().out)["decision"]["validation_accuracy"] == 0.747


def test_without_a_baseline_nothing_is_called_a_candidate() -> None:
    loops = tuple(replace(one, text="again and " * 60) for one in CANDIDATE.cells[0].requests)
    arm = replace(CANDIDATE, cells=(Cell(Load(1), loops, acceptance=Acceptance(2.0, 0.5)),))
    lines = render_measurement(arm, None, None, Paper(80), name="plain")

    assert any("plain, 1" in line for line in lines)

    assert not any("candidate" in line for line in lines)
    assert any(line.split() == ["plain"] for line in lines)


def test_a_verdict_from_fewer_answers_than_the_table_has_says_so() -> None:
    judged = judge_arms(BASELINE, CANDIDATE, Design.SEQUENTIAL, share=1)
    same = judge_arms(CANDIDATE, CANDIDATE, Design.SEQUENTIAL, share=1)

    fewer = " ".join(render_measurement(CANDIDATE, BASELINE, judged, Paper(80)))
    whole = " ".join(render_measurement(CANDIDATE, CANDIDATE, same, Paper(80)))

    assert "compares only prompts that both answered (8)" in fewer
    assert "both answered" not in whole
