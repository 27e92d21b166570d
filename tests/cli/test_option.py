"""The kinds of values that options take."""

from __future__ import annotations

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firedup.cli.figure import Figure
from firedup.cli.option import NEVER, Duration, Pattern, Variable, parse_duration, read_limit


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90),
        ("90s", 90),
        ("30m", 1800),
        ("1h30m", 5400),
        ("2d", 172800),
        ("250ms", 0.25),
        ("1.5h", 5400),
        ("1H 30M", 5400),
        ("0", 0),
    ],
)
def test_durations_are_written_as_people_say_them(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", " ", "m", "30x", "-5m", "1h-30m", "m30", "1e9s", "½h"])
def test_anything_else_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="no duration"):
        parse_duration(text)


@given(st.integers(0, 99), st.integers(0, 59), st.integers(0, 59))
def test_parts_of_a_duration_add_up(hours: int, minutes: int, seconds: int) -> None:
    assert parse_duration(f"{hours}h{minutes}m{seconds}s") == hours * 3600 + minutes * 60 + seconds


def test_never_is_no_limit() -> None:
    assert read_limit(Duration(takes_never=True)("never")) is None
    assert read_limit(Duration(takes_never=True)("0")) == 0
    assert NEVER > 1e18
    with pytest.raises(click.BadParameter):
        Duration()("never")


@pytest.mark.parametrize("text", ["9" * 400, "99999999d"])
def test_no_duration_is_longer_than_a_life(text: str) -> None:
    with pytest.raises(ValueError, match="is longer than"):
        parse_duration(text)


def test_a_time_may_have_to_be_long_enough() -> None:
    assert Duration(least_s=1)("1s") == 1
    with pytest.raises(click.BadParameter, match="too short"):
        Duration(least_s=1)("0")


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "1e400", "0", "-1", "x", "", "1001"])
def test_a_number_is_finite_and_within_its_limits(text: str) -> None:
    assert Figure(0.5, 1000)("1e3") == 1000
    with pytest.raises(click.BadParameter, match=r"is not between 0.5 and 1,000|is no number"):
        Figure(0.5, 1000)(text)


def test_a_variable_is_cut_at_its_first_equals_sign() -> None:
    assert Variable()("FLAGS=--a=b") == ("FLAGS", "--a=b")
    assert Variable()("EMPTY=") == ("EMPTY", "")


@pytest.mark.parametrize("text", ["A", "=b", "1A=b", "A-B=c", "A B=c"])
def test_other_words_are_no_variable(text: str) -> None:
    with pytest.raises(click.BadParameter, match="no K=V"):
        Variable()(text)


def test_a_pattern_is_checked_and_stays_text() -> None:
    assert Pattern()("step (\\d+)/") == "step (\\d+)/"
    with pytest.raises(click.BadParameter, match="at character 3"):
        Pattern()("ab(")
