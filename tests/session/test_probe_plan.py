"""Which prompts are asked, in how many parts, and how a candidate is asked as its baseline was."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from firedup.core.error import IncomparableError, UsageError
from firedup.core.measure.measured import Arm, Cell, Conditions, Load, Request
from firedup.session.probeplan import ProbeOrder, foresee, make_plan
from firedup.store.probe import StoredProbe, save_probe

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
    less = replace(ORDER, loads=(Load(8),), requests=9, seed=None)

    assert ids(less, baseline) == [ids(ORDER)[1][:9]]


def test_other_categories_and_files_are_taken_from_where_the_baseline_had_them(
    tmp_path: Path,
) -> None:
    coded = replace(ORDER, categories=("code",), requests=8)
    own = tmp_path / "own.jsonl"
    own.write_text("".join(json.dumps({"prompt": f"question {n}"}) + "\n" for n in range(9)))
    filed = replace(ORDER, loads=(Load(1), Load(2)), prompts=own, requests=4)

    assert ids(ProbeOrder("x"), measured(coded)) == ids(coded)
    assert ids(ProbeOrder("x", prompts=own), measured(filed)) == ids(filed)
    with pytest.raises(UsageError, match="none of the prompts that the baseline was asked"):
        make_plan(ProbeOrder("x"), measured(filed))


def test_a_load_that_the_baseline_does_not_have_is_refused() -> None:
    with pytest.raises(UsageError, match="not measured with a load of 4"):
        make_plan(replace(ORDER, loads=(Load(4),)), measured(ORDER))


@pytest.mark.parametrize(
    ("streams", "requests", "in_turn", "parts"),
    [(1, 42, True, 12), (8, 42, True, 4), (1, 42, False, 6), (32, 42, False, 1), (32, 64, True, 2)],
)
def test_each_part_has_a_request_for_every_stream(
    streams: int, requests: int, in_turn: bool, parts: int
) -> None:
    order = replace(ORDER, loads=(Load(streams),), requests=requests)
    plan, _ = make_plan(order, None, is_in_turn=in_turn)

    assert plan.visits == (parts,)
    asked = [prompt for visit in range(parts) for prompt in plan.part(0, visit)]
    assert sorted(p.id for p in asked) == sorted(p.id for p in plan.prompts[0])


def counts(order: ProbeOrder, *, in_turn: bool = False) -> list[int]:
    plan, _ = make_plan(order, None, is_in_turn=in_turn)
    return [len(part) for part in plan.prompts]


def test_more_loads_share_the_prompts_that_there_are() -> None:
    order = ProbeOrder("x", loads=tuple(Load(number) for number in (1, 2, 4, 8, 16)))

    assert counts(order) == [33] * 5
    assert foresee(order, Path("none")) == (
        "requests: 33 for each load, instead of 42: there are 168 different prompts",
    )
    assert foresee(ProbeOrder("x"), Path("none")) == ()


def test_each_stream_has_a_request_or_the_load_is_none() -> None:
    order = ProbeOrder("x", loads=(Load(1), Load(64)))

    assert counts(order) == [42, 64]
    assert counts(order, in_turn=True) == [40, 128]
    assert "42 at 1, 64 at 64" in foresee(order, Path("none"))[0]
    with pytest.raises(UsageError, match="7 requests are too few for 64 streams"):
        foresee(replace(order, requests=7), Path("none"))
    with pytest.raises(UsageError, match="in each of two turns"):
        foresee(replace(order, requests=64, baseline="http://127.0.0.1:9"), Path("none"))


@pytest.mark.parametrize(
    ("order", "advice"),
    [
        (ProbeOrder("x", loads=LOADS, requests=100), "Take --requests 84 or fewer"),
        (ProbeOrder("x", loads=(Load(1), Load(90)), requests=99), "Choose fewer or lower loads"),
        (ProbeOrder("x", loads=(Load(200),)), "Choose fewer or lower loads"),
        (ProbeOrder("x", requests=40, categories=("code",)), "name more with --category"),
    ],
)
def test_more_prompts_than_there_are_is_answered_with_what_one_can_do(
    order: ProbeOrder, advice: str
) -> None:
    with pytest.raises(UsageError, match="different prompts, and there are") as error:
        foresee(order, Path("none"))

    assert advice in (error.value.todo or "")
    assert "--prompts" in (error.value.todo or "")


def test_all_of_a_few_prompts_are_used_and_what_is_left_out_is_told(tmp_path: Path) -> None:
    own = tmp_path / "own.jsonl"
    lines = [{"prompt": f"question {n}", "category": "ab"[n % 2]} for n in (1, 2, 3, 3)]
    own.write_text("".join(json.dumps(line) + "\n" for line in lines))
    order = ProbeOrder("x", prompts=own)

    assert counts(order) == [3]
    notes = foresee(order, Path("none"))
    assert notes[0] == "own.jsonl: line 4 is left out: it asks what line 3 asks"
    assert notes[1] == "requests: 3, instead of 42: there are 3 different prompts"
    assert counts(replace(order, categories=("b",))) == [2]
    with pytest.raises(UsageError, match="has no prompts of the category 'code'"):
        foresee(replace(order, categories=("code",)), Path("none"))


def test_what_would_not_be_comparable_is_refused_before_there_is_a_server(tmp_path: Path) -> None:
    save_probe(tmp_path, StoredProbe("20261130-000000-aaaa", measured(ORDER), "u", name="plain"))

    with pytest.raises(IncomparableError, match="max tokens differs") as error:
        foresee(ProbeOrder("x", baseline="plain", max_tokens=128), tmp_path)
    assert "--max-tokens 64" in (error.value.todo or "")
    with pytest.raises(IncomparableError, match="ignores eos differs"):
        foresee(ProbeOrder("x", baseline="plain", ignores_eos=False), tmp_path)


def test_a_candidate_is_asked_no_more_than_its_baseline_which_is_told(tmp_path: Path) -> None:
    save_probe(tmp_path, StoredProbe("20261130-000000-aaaa", measured(ORDER), "u", name="plain"))
    order = ProbeOrder("x", baseline="plain", requests=99)

    assert foresee(order, tmp_path) == (
        "requests: 16 instead of 99: the baseline was asked no more",
    )
