"""The speed-up of two arms on the same prompts, and what makes it unsure."""

from __future__ import annotations

import random
from dataclasses import replace
from math import exp, inf, log

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firedup.core.measure.drift import Drift, find_wandering
from firedup.core.measure.measured import Cell, Load, Request
from firedup.core.measure.pairing import Design, compare_arms, pair_prompts

NS = 1_000_000_000
DAY_S = 86_400.0
TPOTS = st.lists(st.floats(0.001, 1), min_size=4, max_size=12)


def make_cell(tpots_s: list[float], *, block: int = 0, first: int = 0, at_s: float = 0) -> Cell:
    """One prompt after the other, 1001 tokens each."""
    requests = []
    now = int(at_s * NS)
    for number, tpot_s in enumerate(tpots_s, first):
        last = now + 1000 + int(tpot_s * 1000 * NS)
        requests.append(
            Request(f"p{number}", "chat", now, now + 1000, last, tokens=1001, block=block)
        )
        now = last
    return Cell(Load(), tuple(requests))


def test_only_prompts_that_both_answered_are_compared() -> None:
    baseline = make_cell([0.01] * 6)
    candidate = make_cell([0.02] * 6, first=2)
    failed = (replace(candidate.requests[0], error="time-out"), *candidate.requests[1:])

    pairs = pair_prompts(baseline, replace(candidate, requests=failed))

    assert [pair.prompt for pair in pairs] == ["p3", "p4", "p5"]
    assert compare_arms(baseline, replace(candidate, requests=failed), Design.SEQUENTIAL) is None


def test_tokens_of_the_first_piece_are_no_decoding() -> None:
    cell = make_cell([0.01] * 4)
    fat = tuple(replace(request, first_tokens=501) for request in cell.requests)

    (pair, *_) = pair_prompts(cell, replace(cell, requests=fat))

    assert (pair.baseline_tokens, pair.candidate_tokens) == (1000, 500)


def test_turns_of_a_conversation_are_one_pair_as_far_as_both_answered_them() -> None:
    turns = (1, 2, 3)
    cell = make_cell([0.01, 0.02, 0.03])
    talk = [replace(r, prompt="p", turn=n) for r, n in zip(cell.requests, turns, strict=True)]

    (pair,) = pair_prompts(Cell(Load(), tuple(talk)), Cell(Load(), tuple(talk[:2])))

    assert (pair.baseline_tokens, pair.candidate_tokens) == (2000, 2000)
    assert pair.baseline_s == pair.candidate_s == pytest.approx(30)


def test_the_speed_up_is_that_of_all_tokens_and_seconds() -> None:
    found = compare_arms(
        make_cell([0.01, 0.02, 0.03, 0.04]), make_cell([0.01] * 4), Design.SEQUENTIAL
    )

    assert found is not None
    assert exp(found.log_ratio) == pytest.approx(2.5)


@given(TPOTS, st.floats(0.1, 10), st.floats(0.5, 2), st.integers(0, 99))
def test_exchanged_arms_give_the_inverse_and_another_unit_gives_the_same(
    tpots: list[float], factor: float, ratio: float, seed: int
) -> None:
    draw = random.Random(seed)
    other = [tpot * ratio * draw.uniform(0.8, 1.2) for tpot in tpots]

    for design in Design:
        found = compare_arms(make_cell(tpots), make_cell(other), design)
        back = compare_arms(make_cell(other), make_cell(tpots), design)
        scaled = compare_arms(
            make_cell([factor * tpot for tpot in tpots]),
            make_cell([factor * tpot for tpot in other]),
            design,
        )
        assert found is not None
        assert back is not None
        assert scaled is not None
        assert back.log_ratio == pytest.approx(-found.log_ratio, abs=1e-9)
        assert scaled.log_ratio == pytest.approx(found.log_ratio, abs=1e-6)
        assert back.variance == pytest.approx(found.variance, abs=1e-12)
        assert scaled.variance == pytest.approx(found.variance, rel=1e-3, abs=1e-9)


def test_more_prompts_do_not_take_drift_away_and_more_visits_do() -> None:
    few, many = make_cell([0.01, 0.012] * 4), make_cell([0.01, 0.012] * 40)
    slow = make_cell([0.012, 0.01] * 40)
    short = compare_arms(few, slow, Design.SEQUENTIAL)
    long = compare_arms(many, slow, Design.SEQUENTIAL)
    later = make_cell([0.01, 0.012] * 40, block=1, at_s=DAY_S).requests
    visited = compare_arms(Cell(Load(), many.requests + later), slow, Design.SEQUENTIAL)

    assert short is not None
    assert long is not None
    assert visited is not None
    assert short.variance > 5 * long.variance
    assert short.drift == long.drift == pytest.approx(2 * Drift().variance)
    assert visited.drift == pytest.approx(1.5 * Drift().variance)
    assert long.drift_share > 0.6
    assert short.drift_share < 0.3


def test_blocks_asked_in_one_go_are_one_visit() -> None:
    first = make_cell([0.01] * 5).requests
    at_once = make_cell([0.01] * 5, block=1, first=5, at_s=first[-1].begun_ns / NS + 15)
    whole = Cell(Load(), first + at_once.requests)

    found = compare_arms(whole, whole, Design.SEQUENTIAL)

    assert found is not None
    assert found.drift == pytest.approx(2 * Drift().variance)


def test_a_steady_drift_leaves_a_b_b_a_alone() -> None:
    arms: tuple[list[Request], list[Request]] = ([], [])
    moment = 0
    for block in range(20):
        for which in (0, 1) if block % 2 == 0 else (1, 0):
            (request,) = make_cell([0.01 * 1.01**moment], block=block, first=block).requests
            arms[which].append(request)
            moment += 1

    before, after = (Cell(Load(), tuple(arm)) for arm in arms)
    turned = compare_arms(before, after, Design.INTERLEAVED)

    assert turned is not None
    assert exp(turned.log_ratio) == pytest.approx(1, abs=0.001)
    assert turned.degrees == 9
    assert turned.variance < 1e-6


def test_too_few_blocks_are_taken_for_visits() -> None:
    cells = [make_cell([0.01] * 4), make_cell([0.01] * 4, block=1, first=4)]
    cell = Cell(Load(), cells[0].requests + cells[1].requests)

    found = compare_arms(cell, cell, Design.INTERLEAVED)

    assert found is not None
    assert found.drift == pytest.approx(Drift().variance)


def test_a_visit_that_changes_its_speed_is_seen_to_wander() -> None:
    draw = random.Random(2)
    steady = [draw.gauss(0, 0.05) for _ in range(60)]
    moved = [value + (0.2 if number >= 30 else 0) for number, value in enumerate(steady)]

    assert find_wandering(steady) == 0
    assert find_wandering(moved) == pytest.approx(0.012, rel=0.3)  # 0.1² × 6/5, as means scatter
    assert find_wandering(moved[:20]) == 0


def test_noise_alone_is_rarely_taken_for_wandering() -> None:
    draw = random.Random(9)
    seen = sum(find_wandering([draw.gauss(0, 1) for _ in range(48)]) > 0 for _ in range(400))

    assert seen / 400 < 0.09


def test_a_single_group_says_nothing_of_its_scatter() -> None:
    cell = make_cell([0.01] * 4)
    lone = compare_arms(cell, cell, Design.SEQUENTIAL, Drift(0, inf))

    assert lone is not None
    assert lone.log_ratio == pytest.approx(log(1))
    assert lone.whole == pytest.approx(0, abs=1e-18)


@settings(max_examples=20)
@given(st.integers(0, 1000))
def test_the_order_of_requests_within_a_visit_does_not_change_the_speed_up(seed: int) -> None:
    draw = random.Random(seed)
    baseline = make_cell([draw.uniform(0.01, 0.02) for _ in range(12)])
    candidate = make_cell([draw.uniform(0.01, 0.02) for _ in range(12)])
    shuffled = list(candidate.requests)
    draw.shuffle(shuffled)

    one = compare_arms(baseline, candidate, Design.SEQUENTIAL)
    other = compare_arms(baseline, Cell(Load(), tuple(shuffled)), Design.SEQUENTIAL)

    assert one is not None
    assert other is not None
    assert one.log_ratio == pytest.approx(other.log_ratio)
    assert one.variance == pytest.approx(other.variance)
