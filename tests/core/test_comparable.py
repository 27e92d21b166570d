"""Which measurements may be held against each other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from firedup.core.measure.comparable import Weight, are_comparable, find_obstacles
from firedup.core.measure.measured import Conditions

PLAIN = Conditions(
    engine="sglang",
    version="0.5.9",
    model="Kimi-K2.5",
    host="box",
    flags=("--tp", "8", "--port", "30000"),
    environment={"NCCL_ALGO": "Ring"},
    max_tokens=256,
    prompts="built-in",
)


def test_a_drafter_and_another_port_are_no_obstacle() -> None:
    candidate = replace(
        PLAIN,
        flags=(
            *("--tensor-parallel-size=8", "--port", "30001"),
            *("--speculative-algorithm", "EAGLE3", "--speculative-draft-model-path", "d"),
        ),
        drafter="d",
        draft_tokens=3,
    )

    found = find_obstacles(PLAIN, candidate)

    assert are_comparable(found)
    assert {one.weight for one in found} == {Weight.HARMLESS}
    assert {one.name for one in found} == {
        "--port",
        "--speculative-algorithm",
        "--speculative-draft-model-path",
    }


def test_arms_the_wrong_way_round_are_refused() -> None:
    plain = replace(PLAIN, speculates=False)
    drafted = replace(PLAIN, drafter="d", draft_tokens=3, speculates=True)

    (one,) = find_obstacles(drafted, plain)

    assert (one.name, one.baseline, one.candidate) == ("speculation", "yes", "no")
    assert (one.weight, one.why) == (
        Weight.FORBIDS,
        "the baseline speculates and the candidate does not: are they the wrong way round?",
    )
    assert find_obstacles(plain, drafted) == ()


def test_a_setting_of_the_system_moves_the_baseline_and_forbids_the_comparison() -> None:
    found = find_obstacles(PLAIN, replace(PLAIN, environment={"NCCL_ALGO": "Tree"}))

    assert [(one.name, one.baseline, one.candidate) for one in found] == [
        ("NCCL_ALGO", "Ring", "Tree")
    ]
    assert "baseline moves" in found[0].why
    assert not are_comparable(found)


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"engine": "vllm"}, "engine"),
        ({"version": "0.5.12"}, "version"),
        ({"model": "Kimi-K2"}, "model"),
        ({"host": "other"}, "host"),
        ({"max_tokens": 64}, "max tokens"),
        ({"ignores_eos": False}, "ignores eos"),
        ({"prompts": "mine"}, "prompts"),
        ({"flags": ("--tp", "4", "--port", "30000")}, "--tensor-parallel-size"),
        ({"environment": {"NCCL_ALGO": "Ring", "SGLANG_SIMULATE_ACC_LEN": "3"}}, "SGLANG_SIM"),
    ],
)
def test_what_belongs_to_a_figure_must_be_the_same(change: dict[str, Any], name: str) -> None:
    found = find_obstacles(PLAIN, replace(PLAIN, **change))

    assert not are_comparable(found)
    assert found[0].name.startswith(name)
    assert found[0].weight is Weight.FORBIDS
    assert found[0].why


@pytest.mark.parametrize(
    "change",
    [
        {"host": None},
        {"flags": None},
        {"environment": None},
        {"client": "tunnel"},
        {"seed": 1},
        {"flags": (*(PLAIN.flags or ()), "--attention-backend", "triton")},
    ],
)
def test_what_may_move_the_speed_or_is_not_known_is_told(change: dict[str, Any]) -> None:
    found = find_obstacles(PLAIN, replace(PLAIN, **change))

    assert [one.weight for one in found] == [Weight.MATTERS]


def test_what_forbids_comes_first() -> None:
    found = find_obstacles(PLAIN, replace(PLAIN, flags=("--tp", "4", "--port", "1"), seed=2))

    assert [one.weight for one in found] == [Weight.FORBIDS, Weight.MATTERS, Weight.HARMLESS]


def test_two_equal_conditions_have_no_obstacle() -> None:
    assert find_obstacles(PLAIN, PLAIN) == ()
    assert find_obstacles(Conditions(), Conditions()) == ()
