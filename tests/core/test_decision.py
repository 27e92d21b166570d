"""What to do with a drafter, from what was measured of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firedup.core.measure.decision import (
    Advice,
    Case,
    decide,
    find_crossing,
    imply_lengths,
    sum_up,
)
from firedup.core.measure.measured import Estimate, Load
from firedup.core.measure.rival import Evidence, Rival, list_rivals
from firedup.core.measure.sequential import Side


def make_case(
    speed_up: float,
    length: float | None = 2.5,
    *,
    tokens: int | None = 3,
    streams: int = 1,
    width: float = 0.04,
) -> Case:
    """A load with a speed-up that is known within `width` on either side."""
    return Case(
        Load(streams),
        Estimate(speed_up, speed_up - width, speed_up + width),
        82.0,
        Estimate(length) if length is not None else None,
        tokens,
    )


@pytest.mark.parametrize(
    ("case", "advice", "also"),
    [
        (make_case(1.4, 3.2), Advice.USE, None),
        (make_case(1.04, 2.5), Advice.UNDECIDED, None),
        # The published drafter for another target: too little is accepted, and the step is dear.
        (make_case(52 / 82, 1.5), Advice.FINE_TUNE, Advice.FIX_SYSTEM),
        # A step of 1.55 plain ones is what three draft tokens may cost.
        (make_case(0.9, 1.4), Advice.FINE_TUNE, None),
        # Even four tokens a step would not make up for this one.
        (make_case(0.5, 2.5), Advice.FIX_SYSTEM, None),
        (make_case(0.4, 1.2, tokens=1), Advice.FIX_SYSTEM, None),
        # Most is accepted, and the step is dear.
        (make_case(0.9, 2.6), Advice.FIX_SYSTEM, None),
        (make_case(0.5, 1.02, tokens=None), Advice.FINE_TUNE, None),
        (make_case(0.9, 1.7, tokens=None), Advice.DO_NOT_USE, None),
        (make_case(0.9, None), Advice.DO_NOT_USE, None),
        # One draft token, mostly accepted, at a step that costs what it may.
        (make_case(0.96, 1.6, tokens=1, width=0.02), Advice.DO_NOT_USE, None),
    ],
)
def test_advice_follows_from_speed_acceptance_and_step(
    case: Case, advice: Advice, also: Advice | None
) -> None:
    (found,) = decide([case])

    assert (found.advice, found.also) == (advice, also)
    assert sum_up([found]) is advice


def test_the_numbers_of_the_story_are_those_of_its_arithmetic() -> None:
    (found,) = decide([make_case(52 / 82, 1.5)])

    assert found.figures is not None
    assert found.perfect_speed_up is not None
    assert round(found.figures.step_ratio, 2) == 2.37
    assert round(found.perfect_speed_up, 2) == 1.69
    assert round(found.figures.at_plain_step) == 123


def test_a_loss_under_more_load_is_no_fault_of_a_drafter_that_pays_under_less() -> None:
    found = decide([make_case(0.8, 1.4, streams=32), make_case(1.3, streams=1)])

    assert [one.advice for one in found] == [Advice.USE, Advice.DO_NOT_USE]
    assert found[1].pays_at == Load(1)
    assert found[1].rivals == () or found[1].is_acceptance_low
    assert sum_up(found) is Advice.USE


def test_it_stops_paying_between_two_measured_loads() -> None:
    found = find_crossing(
        decide([make_case(s, streams=n) for n, s in ((1, 1.5), (8, 1.2), (32, 0.8))])
    )

    assert found is not None
    assert (found.pays_at, found.loses_at) == (8, 32)
    assert found.about == pytest.approx(20)


def test_an_undecided_load_lies_within_the_crossing() -> None:
    found = find_crossing(
        decide([make_case(s, streams=n) for n, s in ((1, 1.5), (8, 1.02), (32, 0.8))])
    )

    assert found is not None
    assert (found.pays_at, found.loses_at) == (1, 32)


def test_a_drafter_that_pays_everywhere_or_nowhere_has_no_crossing() -> None:
    assert find_crossing(decide([make_case(1.5), make_case(1.2, streams=8)])) is None
    assert find_crossing(decide([make_case(0.7), make_case(0.6, streams=8)])) is None


@given(st.floats(0.2, 3), st.floats(1, 4), st.floats(0, 0.5), st.sampled_from([None, 1, 3, 8]))
def test_use_is_said_where_a_gain_is_certain_and_nowhere_else(
    speed_up: float, length: float, width: float, tokens: int | None
) -> None:
    (found,) = decide([make_case(speed_up, length, tokens=tokens, width=width)])

    assert (found.advice is Advice.USE) == (speed_up - width > 1.03)
    assert (found.advice is Advice.UNDECIDED) == (found.side is Side.OPEN)


def test_a_validation_accuracy_is_not_the_acceptance_that_it_is_taken_for() -> None:
    first, each = imply_lengths(0.747, 3)

    assert (round(first, 2), round(each, 2)) == (1.75, 2.72)


def test_every_rival_stands_until_something_excludes_it() -> None:
    claims = list_rivals(1.5)

    assert {claim.rival for claim in claims} == set(Rival)
    assert all(claim.excluded_by is None and claim.test for claim in claims)


def test_a_good_first_position_excludes_a_wrong_map_and_decay_points_to_the_norms() -> None:
    claims = {one.rival: one for one in list_rivals(1.9, Evidence(positions=(0.7, 0.15, 0.05)))}

    assert claims[Rival.VOCABULARY_MAP].excluded_by
    assert claims[Rival.ALGORITHM].excluded_by
    assert "decays" in (claims[Rival.NORMS].hint or "")
    assert claims[Rival.OTHER_TARGET].excluded_by is None


def test_level_acceptance_excludes_the_norms() -> None:
    claims = {one.rival: one for one in list_rivals(1.7, Evidence(positions=(0.5, 0.25, 0.12)))}

    assert claims[Rival.NORMS].excluded_by


def test_categories_far_apart_point_to_other_text_and_equal_ones_exclude_it() -> None:
    apart = Evidence(categories={"code": 1.4, "multilingual": 0.2})
    alike = Evidence(categories={"code": 0.5, "multilingual": 0.45})
    (found,) = (one for one in list_rivals(1.6, apart) if one.rival is Rival.OTHER_TEXT)
    (other,) = (one for one in list_rivals(1.5, alike) if one.rival is Rival.OTHER_TEXT)

    assert "1.40 draft tokens a step are accepted in code" in (found.hint or "")
    assert "0.45 to 0.50" in (other.excluded_by or "")


def test_nothing_accepted_points_to_the_map_and_the_algorithm_first() -> None:
    claims = list_rivals(1.0)

    assert {claims[0].rival, claims[1].rival} == {Rival.ALGORITHM, Rival.VOCABULARY_MAP}


def test_what_a_static_check_excludes_comes_last() -> None:
    claims = list_rivals(1.5, Evidence(excluded={Rival.ALGORITHM: "the check of the drafter"}))

    assert claims[-1].rival is Rival.ALGORITHM
    assert claims[-1].excluded_by == "the check of the drafter"
