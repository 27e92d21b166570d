"""Looks at a speed-up that is still being measured: when to stop, and what may be said then."""

from __future__ import annotations

import math
import random
from math import exp, inf, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firedup.core.measure.measured import Estimate
from firedup.core.measure.pairing import Difference
from firedup.core.measure.sequential import (
    FIRST_LOOK,
    Look,
    Outlook,
    Rules,
    Side,
    find_side,
    take_look,
)

TRIALS = 120


def make_difference(
    speed_up: float, pairs: int, *, spread: float = 0.1, drift: float = 0.0
) -> Difference:
    """As `pairs` prompts of that spread would give it."""
    return Difference(log(speed_up), spread**2 / pairs, pairs - 1, drift, inf, pairs)


def test_a_large_loss_is_certain_at_the_first_look() -> None:
    look = take_look(make_difference(0.6, FIRST_LOOK), None, share=0.05)

    assert (look.outlook, look.side) == (Outlook.CERTAIN, Side.SLOWER)


def test_a_small_gain_needs_more_prompts() -> None:
    early = take_look(make_difference(1.1, 10), None, share=0.1)
    late = take_look(make_difference(1.1, 100), early, share=1)

    assert (early.outlook, early.side) == (Outlook.GO_ON, Side.OPEN)
    assert early.next_pairs == 16
    assert (late.outlook, late.side) == (Outlook.CERTAIN, Side.FASTER)


def test_the_last_look_ends_the_budget() -> None:
    look = take_look(make_difference(1.04, 100), None, share=1)

    assert (look.outlook, look.side) == (Outlook.SPENT, Side.OPEN)


def test_what_drift_leaves_open_no_prompt_is_wasted_on() -> None:
    look = take_look(make_difference(1.05, 20, drift=0.03**2), None, share=0.2)

    assert (look.outlook, look.side) == (Outlook.HOPELESS, Side.OPEN)


def test_a_look_that_is_the_last_says_what_its_own_interval_makes_certain() -> None:
    look = take_look(make_difference(1.102, 40, drift=0.03**2), None, share=0.7)

    assert look.spent == Rules().error  # it takes what later looks would have had
    assert (look.outlook, look.side) == (Outlook.CERTAIN, Side.FASTER)


@given(st.floats(0.8, 1.3), st.integers(6, 200), st.floats(0, 0.002), st.floats(0.05, 1))
def test_no_look_says_other_than_its_interval(
    speed_up: float, pairs: int, drift: float, share: float
) -> None:
    look = take_look(make_difference(speed_up, pairs, drift=drift), None, share=share)

    assert look.side is find_side(look.estimate)
    assert (look.outlook is Outlook.CERTAIN) == (look.side is not Side.OPEN)


def test_an_equal_speed_is_no_gain_and_no_loss() -> None:
    look = take_look(make_difference(0.99, 400), None, share=1)

    assert look.side is Side.NO_GAIN


@pytest.mark.parametrize(
    ("low", "high", "side"),
    [
        (1.031, 1.2, Side.FASTER),
        (1.029, 1.2, Side.OPEN),
        (0.98, 1.02, Side.NO_GAIN),
        (0.9, 1.02, Side.NO_GAIN),
        (0.9, 0.96, Side.SLOWER),
        (0.9, 1.04, Side.OPEN),
        (None, None, Side.OPEN),
    ],
)
def test_only_an_interval_makes_certain(low: float | None, high: float | None, side: Side) -> None:
    assert find_side(Estimate(1.0, low, high)) is side


@given(
    st.lists(st.tuples(st.floats(0.8, 1.3), st.floats(0.01, 0.99)), min_size=1, max_size=9),
    st.floats(0, 0.002),
)
def test_all_looks_together_spend_no_more_than_is_allowed(
    rounds: list[tuple[float, float]], drift: float
) -> None:
    look: Look | None = None
    spent = [0.0]
    for number, (speed_up, share) in enumerate(sorted(rounds, key=lambda one: one[1])):
        look = take_look(make_difference(speed_up, 6 + number, drift=drift), look, share=share)
        spent.append(look.spent)
    look = take_look(make_difference(1.0, 50, drift=drift), look, share=1)
    spent.append(look.spent)

    assert spent == sorted(spent)
    assert look.spent == pytest.approx(Rules().error)


@given(st.floats(0.3, 3), st.integers(6, 200), st.floats(0.1, 1))
def test_exchanged_arms_have_the_inverse_interval(
    speed_up: float, pairs: int, share: float
) -> None:
    one = take_look(make_difference(speed_up, pairs), None, share=share).estimate
    other = take_look(make_difference(1 / speed_up, pairs), None, share=share).estimate

    # The zone of indifference is not its own inverse: what is hopeless may differ at its edge.
    if one.low is not None and other.high is not None and share == 1:
        assert one.low == pytest.approx(1 / other.high)
    assert one.value == pytest.approx(1 / other.value)


def stop_at(draw: random.Random, truth: float, *, most: int, drift: float) -> Look:
    """The look at which a simulated probe stops; its visits differ by `drift`."""
    offset = draw.gauss(0, drift)
    seen: list[float] = []
    look: Look | None = None
    while look is None or look.outlook is Outlook.GO_ON:
        seen.append(log(truth) + offset + draw.gauss(0, 0.15))
        count = len(seen)
        if count < (look.next_pairs if look else FIRST_LOOK) and count < most:
            continue
        mean = sum(seen) / count
        scatter = sum((value - mean) ** 2 for value in seen) / (count - 1) / count
        found = Difference(mean, scatter, count - 1, drift**2, inf, count)
        look = take_look(found, look, share=count / most)
    return look


@pytest.mark.parametrize("drift", [0.0, 0.03])
@pytest.mark.parametrize("truth", [0.97, 1.1])
def test_looking_often_does_not_make_the_interval_lie(truth: float, drift: float) -> None:
    draw = random.Random(f"{truth}/{drift}")
    looks = [stop_at(draw, truth, most=100, drift=drift) for _ in range(TRIALS)]
    held = sum(
        look.estimate.low is not None
        and look.estimate.high is not None
        and look.estimate.low <= truth <= look.estimate.high
        for look in looks
    )

    # 95 %, less three standard deviations of these trials.
    assert held / TRIALS >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / TRIALS)
    assert exp(looks[0].difference.log_ratio) == pytest.approx(looks[0].estimate.value)
