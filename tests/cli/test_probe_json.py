"""The JSON of a probe has the keys that docs/reference/json.md tells, no more and no fewer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from firedup.cli.compared import tell_probed
from firedup.core.measure.acceptance import Counts
from firedup.core.measure.judged import judge_arms
from firedup.core.measure.measured import Arm, Cell, Conditions, Load, Request
from firedup.core.measure.pairing import Design
from firedup.core.measure.stepcost import Point, StepCost
from firedup.core.model import Acceptance
from firedup.session.probe import Probed
from firedup.view.stepcost import record_step_cost

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "json.md"
MS = 1_000_000


def documented(name: str) -> set[str]:
    """The keys in the first column of the table behind a `keys:` mark."""
    table = PAGE.read_text().split(f"<!-- keys: {name} -->\n", 1)[1].split("\n\n", 1)[0]
    rows = table.splitlines()[2:]
    return {key for row in rows for key in re.findall(r"`(\w+)`", row.split("|")[1])}


def make_arm(name: str, token_ms: int, counts: Counts | None = None) -> Arm:
    requests = tuple(
        Request(
            f"p{n}",
            ("chat", "code")[n % 2],
            0,
            5 * MS,
            (5 + 100 * token_ms + n) * MS,
            9,
            101,
            101,
            1,
            counts=counts,
        )
        for n in range(12)
    )
    length = None if counts is None else 1 + (counts.accepted or 0) / (counts.steps or 1)
    conditions = Conditions("sglang", host=name, draft_tokens=3)
    acceptance = Acceptance(length, None, source="the requests' own counters")
    return Arm(name, conditions, (Cell(Load(1), requests, acceptance=acceptance),), 0)


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    arms = make_arm("baseline", 10), make_arm("candidate", 20, Counts(60, 180, 20))
    judged = judge_arms(*arms, Design.SEQUENTIAL, share=1)
    tell_probed(
        Probed(arms[1], arms[0], Design.SEQUENTIAL, judged), None, as_json=True, shows_costs=True
    )
    found = json.loads(capsys.readouterr().out)
    assert isinstance(found, dict)
    return found


def keys(value: object, *path: str | int) -> set[str]:
    for step in path:
        value = value[step]  # type: ignore[index]
    assert isinstance(value, dict)
    return set(value)


def test_a_measurement_has_the_keys_that_are_documented(told: dict[str, object]) -> None:
    load: Iterable[str | int] = ("candidate", "loads", 0)

    assert keys(told) == documented("probe")
    assert keys(told, "candidate") == documented("probe-arm")
    assert keys(told, "candidate", "conditions") == documented("probe-conditions")
    assert keys(told, *load) == documented("probe-load")
    assert keys(told, *load, "tokens_per_s") == documented("estimate")
    assert keys(told, *load, "acceptance") == documented("probe-acceptance")
    assert keys(told, *load, "request_list", 0) == documented("probe-request")


def test_a_decision_has_the_keys_that_are_documented(told: dict[str, object]) -> None:
    assert keys(told, "decision") == documented("decision")
    assert keys(told, "decision", "loads", 0) == documented("decision-load")
    assert keys(told, "decision", "loads", 0, "rivals", 0) == {
        *("cause", "says", "test", "excluded_by", "hint")
    }
    assert keys(told, "decision", "differs", 0) >= {"weight", "why"}


def test_the_cost_of_a_step_has_the_keys_that_are_documented() -> None:
    points = (Point(1, 0.02, 8), Point(3, 0.03, 8))
    record = record_step_cost((StepCost(Load(1), points, 0.015, 0.005, None, (0.5,)),))

    assert set(record[0]) == documented("step-cost")
