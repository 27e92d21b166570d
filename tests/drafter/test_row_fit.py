"""The structure of head rows tells a right map from a wrong one, in any basis."""

from __future__ import annotations

import math
import random

import pytest

from firedup.drafter.rowfit import LIKELY, UNLIKELY, correlation, cosine, similarity_of_structure

WIDTH, VOCAB, ROWS = 48, 300, 40


def made(seed: int) -> tuple[dict[int, tuple[float, ...]], list[int]]:
    """The target's rows, and the tokens of a drafter's rows."""
    draw = random.Random(seed)
    rows = {i: tuple(draw.gauss(0.2, 1) for _ in range(WIDTH)) for i in range(VOCAB)}
    return rows, sorted(draw.sample(range(VOCAB), ROWS))


def turned(row: tuple[float, ...], scale: float) -> tuple[float, ...]:
    """The row in another basis: its numbers in reverse, every second sign changed, and longer."""
    return tuple(x * scale * (-1) ** place for place, x in enumerate(reversed(row)))


@pytest.mark.parametrize("seed", range(5))
def test_a_right_map_fits_in_another_basis_and_a_wrong_one_does_not(seed: int) -> None:
    target, ids = made(seed)
    draw = random.Random(seed)
    draft = {
        row: turned(tuple(x + draw.gauss(0, 0.4) for x in target[i]), 3.0)
        for row, i in enumerate(ids)
    }
    right = [i - row for row, i in enumerate(ids)]
    wrong = [min(i + 1, VOCAB - 1) - row for row, i in enumerate(ids)]

    fits = similarity_of_structure(draft, target, right, VOCAB)
    fails = similarity_of_structure(draft, target, wrong, VOCAB)

    assert fits is not None
    assert fits > LIKELY
    assert fails is not None
    assert fails < UNLIKELY


def test_too_few_rows_give_no_answer() -> None:
    target, _ = made(1)

    assert similarity_of_structure({0: target[0]}, target, [0], VOCAB) is None


def test_rows_that_are_no_numbers_are_left_out() -> None:
    target, ids = made(2)
    draft = {row: target[i] for row, i in enumerate(ids)}
    draft[0] = (math.nan,) * WIDTH
    draft[1] = (0.0,) * WIDTH

    found = similarity_of_structure(draft, target, [i - row for row, i in enumerate(ids)], VOCAB)

    assert found == pytest.approx(1.0)


def test_what_does_not_vary_has_no_correlation() -> None:
    assert correlation([1.0, 1.0], [1.0, 2.0]) is None
    assert correlation([1.0, 2.0, 4.0], [2.0, 4.0, 8.0]) == pytest.approx(1.0)
    assert cosine([0.0, 0.0], [1.0, 2.0]) == 0.0
    assert cosine([1.0, 2.0], [-1.0, -2.0]) == pytest.approx(-1.0)
