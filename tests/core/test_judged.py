"""Two arms, judged load by load while they are measured and at the end."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from firedup.core.measure.acceptance import Counts
from firedup.core.measure.accepted import acceptance_length_of
from firedup.core.measure.decision import Advice
from firedup.core.measure.judged import judge_arms
from firedup.core.measure.measured import Arm, Cell, Conditions, Load, Request
from firedup.core.measure.pairing import Design
from firedup.core.measure.sequential import Outlook
from firedup.core.model import Acceptance

NS = 1_000_000_000
PLAIN = Conditions(engine="sglang", host="box")
DRAFTED = replace(PLAIN, drafter="d", draft_tokens=3)


def make_arm(
    loads: dict[Load, float],
    count: int,
    *,
    conditions: Conditions = PLAIN,
    accepted: int | None = None,
) -> Arm:
    """An arm with a time per token for each load, and so many accepted drafts in 100 steps."""
    cells = []
    for load, tpot_s in loads.items():
        draw = random.Random(f"{load.word}/{tpot_s}")
        requests = tuple(
            Request(
                f"p{number}",
                "chat",
                number * NS,
                number * NS + 1000,
                number * NS + 1000 + int(tpot_s * draw.uniform(0.97, 1.03) * 100 * NS),
                tokens=101,
                counts=Counts(100, 300, accepted) if accepted is not None else None,
            )
            for number in range(count)
        )
        cells.append(Cell(load, requests))
    return Arm("arm", conditions, tuple(cells), 0)


def test_a_probe_may_stop_when_every_load_is_certain() -> None:
    loads = {Load(1): 0.012, Load(8): 0.02}
    slow = {load: 2 * tpot_s for load, tpot_s in loads.items()}
    half = {Load(1): 0.024, Load(8): 0.0203}

    over = judge_arms(make_arm(loads, 8), make_arm(slow, 8), Design.SEQUENTIAL, share=0.1)
    not_yet = judge_arms(make_arm(loads, 8), make_arm(half, 8), Design.SEQUENTIAL, share=1)

    assert over.is_over
    assert not_yet.looks[Load(8)].outlook is Outlook.SPENT


def test_a_look_before_its_time_costs_nothing() -> None:
    before, after = make_arm({Load(1): 0.012}, 8), make_arm({Load(1): 0.0114}, 8)
    first = judge_arms(before, after, Design.INTERLEAVED, share=0.1)
    again = judge_arms(before, after, Design.INTERLEAVED, share=0.11, before=first)

    assert again.looks == first.looks


def test_too_few_answers_are_told_and_not_judged() -> None:
    found = judge_arms(
        make_arm({Load(1): 0.01}, 9), make_arm({Load(1): 0.01}, 3), Design.SEQUENTIAL, share=1
    )

    (one,) = found.unmeasured
    assert one.load == Load(1)
    assert one.why == "only 3 prompts were answered by both, and it takes 4"
    assert not found.is_over
    assert found.decisions == ()


def test_a_load_that_the_baseline_was_not_asked_under_is_told() -> None:
    both = {Load(1): 0.01, Load(8): 0.02}
    found = judge_arms(make_arm({Load(1): 0.01}, 9), make_arm(both, 9), Design.SEQUENTIAL, share=1)

    (one,) = found.unmeasured
    assert (one.load, one.why) == (Load(8), "the baseline was not measured under it")
    assert len(found.decisions) == 1


def test_nothing_is_decided_before_the_probe_is_over() -> None:
    before = make_arm({Load(1): 0.01, Load(8): 0.02}, 8)
    slow = make_arm({Load(1): 0.02, Load(8): 0.04}, 8)
    first, second = slow.cells
    few = replace(slow, cells=(first, replace(second, requests=second.requests[:5])))

    early = judge_arms(before, few, Design.SEQUENTIAL, share=0.1)
    late = judge_arms(before, few, Design.SEQUENTIAL, share=1, before=early)

    assert early.looks[Load(1)].outlook is Outlook.CERTAIN
    assert [one.load for one in early.unmeasured] == [Load(8)]
    assert (early.decisions, len(late.decisions)) == ((), 2)


def test_a_load_that_was_asked_all_has_its_last_look_while_others_go_on() -> None:
    before = make_arm({Load(1): 0.01, Load(8): 0.02}, 8)
    equal = make_arm({Load(1): 0.01, Load(8): 0.0201}, 5)
    few, rest = equal.cells
    after = replace(equal, cells=(replace(few, requests=few.requests[:2]), rest))

    found = judge_arms(before, after, Design.SEQUENTIAL, share={Load(1): 0.4, Load(8): 1.0})

    assert found.looks[Load(8)].outlook is Outlook.SPENT
    assert found.decided == {Load(8)}
    assert not found.is_over


def test_acceptance_and_the_step_come_with_the_decision() -> None:
    found = judge_arms(
        make_arm({Load(1): 1 / 82}, 20),
        make_arm({Load(1): 1 / 52}, 20, conditions=DRAFTED, accepted=50),
        Design.SEQUENTIAL,
        share=1,
    )

    (one,) = found.decisions
    assert one.figures is not None
    assert one.figures.step_ratio == pytest.approx(2.37, rel=0.02)
    assert (one.advice, one.also) == (Advice.FINE_TUNE, Advice.FIX_SYSTEM)
    assert found.obstacles == ()


def test_what_differs_between_the_servers_comes_along() -> None:
    found = judge_arms(
        make_arm({Load(1): 0.01}, 9),
        make_arm({Load(1): 0.01}, 9, conditions=replace(PLAIN, host="other")),
        Design.SEQUENTIAL,
        share=1,
    )

    assert [one.name for one in found.obstacles] == ["host"]


def test_an_acceptance_length_of_the_server_alone_has_no_interval() -> None:
    (cell,) = make_arm({Load(1): 0.01}, 9).cells
    told = replace(cell, acceptance=Acceptance(2.5, 0.5))

    found = acceptance_length_of(told)

    assert found is not None
    assert (found.value, found.low) == (2.5, None)
    assert acceptance_length_of(cell) is None


def test_answers_that_were_held_back_give_no_verdict_and_say_so() -> None:
    plain = make_arm({Load(1): 0.012}, 8)
    fast = make_arm({Load(1): 0.006}, 8)
    held = tuple(replace(one, events=101, arrivals=2) for one in fast.cells[0].requests)
    judged = judge_arms(
        plain,
        replace(fast, cells=(replace(fast.cells[0], requests=held),)),
        Design.SEQUENTIAL,
        share=1,
    )

    assert judged.decisions == ()
    (untold,) = judged.unmeasured
    assert untold.why == "most answers of the candidate came all at once, so that it has no pace"
