"""How long a start still takes: what is said, with what interval, and when nothing is."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firedup.core.forecast import StageTime, StartTimes
from firedup.core.model import Stage
from firedup.core.verdict.etaspread import Spread, weighted_quantiles
from firedup.core.verdict.etastart import Present, forecast_start

durations = st.lists(st.floats(0.0, 5000.0), min_size=2, max_size=30)


def start(load_s: float, graphs_s: float, *, same: bool = True) -> StartTimes:
    stages = (
        StageTime(Stage.LOAD_WEIGHTS, 10.0, load_s),
        StageTime(Stage.GRAPH_CAPTURE, 10.0 + load_s, graphs_s),
    )
    return StartTimes(10.0 + load_s + graphs_s, stages, same)


def starts(count: int, *, seed: int = 1, load_s: float = 60.0) -> list[StartTimes]:
    chance = random.Random(seed)
    return [
        start(load_s * math.exp(chance.gauss(0, 0.15)), 20 * math.exp(chance.gauss(0, 0.15)))
        for _ in range(count)
    ]


def test_each_of_the_pieces_between_earlier_durations_has_the_same_chance() -> None:
    spread = Spread([10.0, 20.0, 30.0])

    assert spread.share(10.0) == pytest.approx(0.25)
    assert spread.share(20.0) == pytest.approx(0.5)
    assert spread.quantile(0.75) == pytest.approx(30.0)


@given(durations, st.floats(0.02, 0.98))
def test_a_quantile_has_its_share_below_it(seconds: list[float], share: float) -> None:
    spread = Spread(seconds)
    found = spread.quantile(share)

    if found > 1e-5:
        near_s = 1e-6 * (1 + found)
        before, after = spread.share(max(0.0, found - near_s)), spread.share(found + near_s)
        assert before - 1e-3 <= share <= after + 1e-3


@given(durations, st.floats(0.0, 6000.0))
def test_what_has_lasted_already_is_never_shorter_than_that(
    seconds: list[float], elapsed_s: float
) -> None:
    lasting = Spread(seconds).after(elapsed_s, 20)

    assert list(lasting) == sorted(lasting)
    assert min(lasting) >= elapsed_s


def test_quantiles_of_weighted_values_follow_the_weights() -> None:
    even = weighted_quantiles([3.0, 1.0, 2.0], [1.0, 1.0, 1.0], (0.5,))
    uneven = weighted_quantiles([3.0, 1.0, 2.0], [98.0, 1.0, 1.0], (0.5,))

    assert even == (2.0,)
    assert uneven[0] == pytest.approx(3.0, abs=0.05)


def test_a_start_is_forecast_from_earlier_ones_by_the_stage_that_it_is_in() -> None:
    eta = forecast_start(Present(70.0, Stage.GRAPH_CAPTURE, 0.0), starts(12))

    assert eta is not None
    assert eta.ready is not None
    assert eta.ready.low_s is not None
    assert eta.ready.high_s is not None
    assert eta.ready.low_s < 20 < eta.ready.high_s
    assert eta.ready.expected_s == pytest.approx(20, rel=0.2)
    assert eta.ready.starts == 12
    assert eta.stage is not None
    assert eta.stage.expected_s == pytest.approx(20, rel=0.2)


def test_below_five_earlier_starts_there_is_what_was_seen_and_no_interval() -> None:
    eta = forecast_start(Present(3.0), [start(50, 20), start(60, 30)])

    assert eta is not None
    assert eta.ready is not None
    assert eta.ready.low_s is None
    assert eta.ready.expected_s is None
    assert eta.ready.seen_s == (80.0, 100.0)


def test_a_start_that_takes_longer_than_all_before_has_no_interval() -> None:
    eta = forecast_start(Present(700.0, Stage.LOAD_WEIGHTS, 690.0), starts(12))

    assert eta is not None
    assert eta.ready is not None
    assert eta.ready.is_overdue
    assert eta.ready.low_s is None
    assert eta.stage is not None
    assert eta.stage.is_overdue


def test_a_bar_that_is_slower_than_usual_moves_the_forecast_within_what_was_seen() -> None:
    past = [*starts(8), *starts(8, seed=2, load_s=240)]
    plain = forecast_start(Present(30.0, Stage.LOAD_WEIGHTS, 20.0), past)
    slow = forecast_start(Present(30.0, Stage.LOAD_WEIGHTS, 20.0, 0.08, 230.0, "bar"), past)
    quick = forecast_start(Present(30.0, Stage.LOAD_WEIGHTS, 20.0, 0.4, 30.0, "bar"), past)

    expected = [
        eta.ready.expected_s
        for eta in (quick, plain, slow)
        if eta is not None and eta.ready is not None and eta.ready.expected_s is not None
    ]
    assert len(expected) == 3
    assert expected == sorted(expected)
    assert expected[0] < 90
    assert expected[2] > 200


def test_without_history_the_bar_alone_forecasts_its_stage() -> None:
    eta = forecast_start(Present(30.0, Stage.LOAD_WEIGHTS, 20.0, 0.4, 30.0, "bar"), [])

    assert eta is not None
    assert eta.ready is None
    assert eta.stage is not None
    assert eta.stage.expected_s == 30.0
    assert eta.stage.low_s is None
    assert eta.stage.basis == "bar"


def test_starts_with_the_same_flags_are_preferred_once_they_are_five() -> None:
    others = [start(600, 200, same=False) for _ in range(10)]
    few, many = [*starts(4), *others], [*starts(5), *others]

    mixed = forecast_start(Present(1.0), few)
    alike = forecast_start(Present(1.0), many)

    assert mixed is not None
    assert mixed.ready is not None
    assert mixed.ready.starts == 14
    assert alike is not None
    assert alike.ready is not None
    assert alike.ready.starts == 5


def test_a_stage_that_no_earlier_start_had_leaves_the_forecast_of_the_whole() -> None:
    eta = forecast_start(Present(30.0, Stage.COMPILE, 5.0), starts(8))

    assert eta is not None
    assert eta.stage is None
    assert eta.ready is not None
    assert eta.ready.expected_s == pytest.approx(60, rel=0.3)


def test_a_server_that_is_up_has_no_forecast() -> None:
    assert forecast_start(Present(90.0, Stage.SERVING, 1.0), starts(8)) is None


def test_four_of_five_starts_end_within_their_interval() -> None:
    inside = asked = 0
    for seed in range(150):
        *past, new = starts(10, seed=seed)
        load = new.stages[0]
        eta = forecast_start(Present(40.0, Stage.LOAD_WEIGHTS, 30.0), past)
        if eta is None or eta.ready is None or eta.ready.low_s is None or load.seconds < 30:
            continue
        high_s = eta.ready.high_s
        assert high_s is not None
        asked += 1
        inside += eta.ready.low_s <= new.ready_s - 40.0 <= high_s

    assert asked > 140
    assert 0.7 <= inside / asked <= 0.9
