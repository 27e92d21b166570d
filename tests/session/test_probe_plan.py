"""Which prompts are asked, in how many parts, and how a candidate is asked as its baseline was."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from firedup.core.error import UsageError
from firedup.core.measured import Arm, Cell, Conditions, Load, Request
from firedup.session.probeplan import ProbeOrder, make_plan

LOADS = (Load(1), Load(8))
ORDER = ProbeOrder("candidate", loads=LOADS, requests=16, max_tokens=64, seed=7)


def measured(order: ProbeOrder) -> Arm:
    """A baseline that was asked what `order` says."""
    plan, generation = make_plan(order, None)
    cells = [
        Cell(load, tuple(Request(p.id, p.category, 0) for p in (*plan.warm_up[:2], *part)))
        for load, part in zip(plan.loads, plan.prompts, strict=True)
    ]
    conditions = Conditions(
        max_tokens=generation.max_tokens,
        ignores_eos=generation.ignores_eos,
        prompts=plan.name,
        seed=plan.seed,
    )
    return Arm("baseline", conditions, tuple(cells), 0)


def ids(order: ProbeOrder, baseline: Arm | None = None) -> list[list[str]]:
    plan, _ = make_plan(order, baseline)
    return [[prompt.id for prompt in part] for part in plan.prompts]


def test_no_prompt_is_asked_twice_whatever_the_load() -> None:
    plan, _ = make_plan(ORDER, None)
    asked = [prompt.id for part in (*plan.prompts, plan.warm_up) for prompt in part]

    assert len(asked) == len(set(asked)) == 2 * 16 + 2 * 9


def test_what_is_not_said_is_as_the_baseline_was_asked() -> None:
    baseline = measured(ORDER)
    plan, generation = make_plan(ProbeOrder("candidate"), baseline)

    assert ids(ProbeOrder("candidate"), baseline) == ids(ORDER)
    assert (plan.loads, plan.name) == (LOADS, baseline.conditions.prompts)
    assert generation.max_tokens == 64


def test_a_candidate_may_be_asked_less_than_its_baseline() -> None:
    baseline = measured(ORDER)
    less = replace(ORDER, loads=(Load(8),), requests=5, seed=None)

    assert ids(less, baseline) == [ids(ORDER)[1][:5]]


def test_other_categories_and_files_are_taken_from_where_the_baseline_had_them(
    tmp_path: Path,
) -> None:
    coded = replace(ORDER, categories=("code",), requests=4)
    own = tmp_path / "own.jsonl"
    own.write_text("".join(json.dumps({"prompt": f"question {n}"}) + "\n" for n in range(9)))
    filed = replace(ORDER, prompts=own, requests=4)

    assert ids(ProbeOrder("x"), measured(coded)) == ids(coded)
    assert ids(ProbeOrder("x", prompts=own), measured(filed)) == ids(filed)
    with pytest.raises(UsageError, match="none of the prompts that the baseline was asked"):
        make_plan(ProbeOrder("x"), measured(filed))


def test_a_load_that_the_baseline_does_not_have_is_refused() -> None:
    with pytest.raises(UsageError, match="not measured with a load of 4"):
        make_plan(replace(ORDER, loads=(Load(4),)), measured(ORDER))


@pytest.mark.parametrize(
    ("streams", "requests", "in_turn", "parts"),
    [(1, 42, True, 12), (8, 42, True, 4), (1, 42, False, 6), (32, 42, False, 1), (32, 42, True, 2)],
)
def test_each_part_has_a_request_for_every_stream(
    streams: int, requests: int, in_turn: bool, parts: int
) -> None:
    order = replace(ORDER, loads=(Load(streams),), requests=requests)
    plan, _ = make_plan(order, None, is_in_turn=in_turn)

    assert plan.visits == parts
    asked = [prompt for visit in range(parts) for prompt in plan.part(0, visit)]
    assert sorted(p.id for p in asked) == sorted(p.id for p in plan.prompts[0])
