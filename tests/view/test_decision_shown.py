"""The advice about a drafter, as people and programs read it."""

from __future__ import annotations

import json
import re
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from firedup.core.measure.comparable import Obstacle, Weight, find_obstacles
from firedup.core.measure.decision import Case, Crossing, Decision, decide, find_crossing
from firedup.core.measure.judged import Judged, Unmeasured
from firedup.core.measure.measured import Conditions, Estimate, Load
from firedup.core.measure.pairing import Difference
from firedup.core.measure.sequential import Look, Outlook, Side
from firedup.core.measure.stepcost import Point, StepCost
from firedup.view.decision import record_decision, render_decision
from firedup.view.paper import Paper
from firedup.view.record import render_json

PAPER = Paper(100)
LENGTHS = st.floats(1, 4)


def make_case(
    speed_up: float,
    *,
    length: float | None = 1.5,
    streams: int = 1,
    drift: float = 0.1,
    tokens: int | None = 3,
) -> Case:
    interval = Estimate(speed_up, speed_up * 0.95, speed_up * 1.05)
    known = Estimate(length, length - 0.1, length + 0.1) if length is not None else None
    return Case(Load(streams), interval, 82.0, known, tokens, drift)


def show(
    decisions: tuple[Decision, ...],
    *,
    crossing: Crossing | None = None,
    accuracy: float | None = None,
    looks: dict[Load, Look] | None = None,
    unmeasured: tuple[Unmeasured, ...] = (),
    costs: tuple[StepCost, ...] = (),
) -> str:
    """The rendered text with line breaks taken out."""
    judged = Judged(decisions, looks or {}, crossing, unmeasured=unmeasured)
    lines = render_decision(judged, PAPER, costs=costs, accuracy=accuracy)
    return " ".join(" ".join(lines).split())


def test_the_best_number_of_draft_tokens_follows_from_what_steps_cost() -> None:
    """1.6 tokens in 16 ms are 100 tok/s, 1.9 in 20 ms are 95, 2.0 in 24 ms are 83."""
    points = tuple(Point(k, 0.012 + 0.004 * k, 42) for k in (1, 3))
    cost = StepCost(Load(1), points, 0.012, 0.004, None, (0.6, 0.3, 0.1))
    found = decide([make_case(1.02)])

    text = show(found, costs=(cost,))
    record = json.loads(render_json(record_decision(Judged(found, {}), costs=(cost,))))

    said = "By what steps cost at concurrency 1, 1 draft token is the best: 100 tok/s (1.22x)."
    assert said in text
    assert record["loads"][0]["best_draft_tokens"] == 1
    assert "the best" not in show(found, costs=(replace(cost, load=Load(8)),))
    assert "the best" not in show(found, costs=(replace(cost, reached=()),))


def test_the_story_is_told_by_its_numbers() -> None:
    text = show(decide([make_case(52 / 82)]), accuracy=0.747)

    for words in (
        "do not use this drafter as it is: fine-tune the drafter and fix the system",
        "0.63x (0.60 to 0.67), 37 % slower, a loss",
        "Acceptance length 1.50 (1.40 to 1.60) of 4 at most: 17 % of drafted tokens are accepted.",
        "A step costs 2.37 times a plain one (28.8 ms against 12.2)",
        "breaks even at an acceptance length of 2.37",
        "A perfect drafter at this step cost would give 139 tok/s (1.69x)",
        "the step cost of the baseline 123 tok/s (1.50x)",
        "A validation accuracy of 74.7 % is no acceptance",
        "before training, exclude",
    ):
        assert words in text


def test_all_of_it_fits_on_one_screen() -> None:
    found = decide([make_case(0.63), make_case(0.6, streams=8), make_case(0.5, streams=32)])

    assert len(render_decision(Judged(found, {}), Paper(80), accuracy=0.747)) <= 40


def test_where_it_stops_paying_is_between_two_measured_loads() -> None:
    found = decide([make_case(s, length=3.2, streams=n) for n, s in ((8, 1.2), (32, 0.8))])
    text = show(found, crossing=find_crossing(found))

    assert "use this drafter at concurrency 8, not at concurrency 32" in text
    assert "between concurrency 8 and 32, the measured ones" in text
    assert "at about 20" in text
    assert "it is the load that it does not fit" in text


def test_no_drafter_pays_where_a_perfect_one_would_lose() -> None:
    text = show(decide([make_case(0.4, length=2.5)]))

    assert "No drafter pays here" in text
    assert "before training" not in text


def test_an_open_verdict_says_what_would_close_it() -> None:
    drifted = show(decide([make_case(1.03, drift=0.8)]))
    assert "measure both servers in turn, while both are up." in drifted
    assert "once more" not in drifted  # which would take the place of the baseline, and add nothing
    assert "More prompts make the interval narrower" in show(decide([make_case(1.03)]))


def test_more_prompts_are_not_asked_for_where_they_do_not_help() -> None:
    found = decide([make_case(1.03)])
    gap = Difference(0.03, 0.001, 20, 0.0001, 6, 21)
    look = Look(Outlook.HOPELESS, Side.OPEN, found[0].case.speed_up, 0.05, 34, gap)

    text = show(found, looks={Load(1): look})

    assert "More prompts make the interval narrower" not in text
    assert "What was left to ask would hardly have made it certain" in text


def test_a_load_of_which_nothing_can_be_said_is_not_left_out() -> None:
    few = Unmeasured(Load(8), "only 3 prompts were answered by both, and it takes 4")

    beside, alone = show(decide([make_case(1.5)]), unmeasured=(few,)), show((), unmeasured=(few,))
    record = json.loads(render_json(record_decision(Judged((), {}, unmeasured=(few,)))))

    for text in (beside, alone):
        assert "concurrency 8: nothing can be said: only 3 prompts were answered by both" in text
    assert record["unmeasured"] == [{"concurrency": 8, "rate": None, "why": few.why}]


def test_an_unknown_acceptance_is_said_and_not_guessed() -> None:
    text = show(decide([make_case(0.8, length=None)]))

    assert "does not say how much is accepted" in text
    assert "Whether the drafter or the step is to blame cannot be told" in text
    assert "perfect" not in text


def test_what_was_not_looked_at_is_not_excluded() -> None:
    text = show(decide([make_case(0.8, length=2.5, tokens=None)]))

    assert "Neither" not in text
    assert "Whether the drafter or the step is to blame cannot be told" in text


def test_a_drafter_near_its_best_loses_only_where_it_is_slower() -> None:
    slower = show(decide([make_case(0.9, length=1.55, tokens=1)]))
    equal = show(
        decide([replace(make_case(1, length=1.6, tokens=1), speed_up=Estimate(0.99, 0.98, 1.01))])
    )

    assert "it is near its best, and loses." in slower
    assert "it is near its best, and that is no gain worth having." in equal


@given(st.floats(0.2, 0.999), LENGTHS, st.integers(1, 64))
def test_below_1_a_gain_is_never_said(speed_up: float, length: float, streams: int) -> None:
    text = show(decide([make_case(speed_up, length=length, streams=streams)]))

    assert "faster" not in text
    assert "use this drafter at" not in text
    assert not re.search(r"\bgain", text.replace("no gain worth having", ""))


def test_a_step_that_is_cheaper_than_a_plain_one_is_not_believed() -> None:
    close = show(decide([make_case(1.55, length=1.5)]))
    far = show(decide([make_case(3.0, length=1.5)]))

    assert "0.97 times a plain one" in close
    assert "within their intervals it may be 1.09" in close
    assert "A perfect drafter" in close
    assert "they do not belong together" in far
    assert "breaks even" not in far
    assert "A perfect drafter" not in far


def test_a_condition_that_is_not_known_is_no_variable_that_is_not_set() -> None:
    known = Conditions(engine="vllm", flags=("--tp", "8"))
    obstacles = find_obstacles(Conditions(), known)

    text = "\n".join(render_decision(Judged(decide([make_case(1.5)]), {}, None, obstacles), PAPER))
    assert "engine not known → vllm" in text
    assert "  flags\n" in text
    assert "unset" not in text


def test_what_is_not_comparable_is_said_and_secrets_are_not() -> None:
    obstacles = (
        Obstacle("NCCL_ALGO", "Ring", "Tree", Weight.FORBIDS, "the baseline moves too"),
        Obstacle("MY_TOKEN", "abc123", "xyz789", Weight.MATTERS, "it may"),
        Obstacle("--port", "1", "2", Weight.HARMLESS, "it does not touch the speed"),
    )

    lines = render_decision(Judged(decide([make_case(1.5)]), {}, None, obstacles), PAPER)

    text = "\n".join(lines)
    assert "NOT COMPARABLE: NCCL_ALGO Ring → Tree" in text
    assert "xyz789" not in text
    assert "--port" not in text


def test_programs_get_the_same_numbers() -> None:
    found = decide([make_case(52 / 82), make_case(0.5, streams=8)])
    record = json.loads(render_json(record_decision(Judged(found, {}), accuracy=0.747)))

    first = record["loads"][0]
    assert (record["advice"], first["also"]) == ("fine-tune", "fix the system")
    assert first["speed_up"]["low"] < first["speed_up"]["value"] < first["speed_up"]["high"]
    assert round(first["step_ratio"], 2) == 2.37
    assert {rival["cause"] for rival in first["rivals"]} >= {"norms", "layer ids"}
    assert record["stops_paying"] is None
    assert record["validation_accuracy"] == 0.747


def test_nothing_measured_is_no_verdict() -> None:
    (line,) = render_decision(Judged((), {}), PAPER)

    assert line == "no verdict: there are no answers of both arms that may be compared"
