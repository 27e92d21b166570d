from datetime import UTC, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firedup.core.measure.measured import Estimate
from firedup.view import quantity

NOON = 1_795_953_600_250_000_000  # 2026-11-29T12:00:00.25Z


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (0.003, "<0.1 s"),
        (0.42, "0.4 s"),
        (9.96, "10 s"),
        (59.6, "1 min"),
        (313.2, "5 min 13 s"),
        (3599.7, "1 h"),
        (3725, "1 h 02 min"),
        (90_000, "1 d 1 h"),
        (-3, "0 s"),
    ],
)
def test_a_duration_shows_its_two_most_telling_units(seconds, text):
    assert quantity.render_duration(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "~1 s"), (43, "~45 s"), (89, "~90 s"), (130, "~2 min"), (4300, "~1 h 10 min")],
)
def test_a_forecast_is_rounded(seconds, text):
    assert quantity.render_remaining(seconds) == text


@pytest.mark.parametrize(("seconds", "text"), [(0, "+00:00"), (67.9, "+01:07"), (3727, "+1:02:07")])
def test_time_since_the_launch_counts_like_a_stopwatch(seconds, text):
    assert quantity.render_offset(seconds) == text


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (999.6, "1.00 kB"),
        (4_390_000_000, "4.39 GB"),
        (547e9, "547 GB"),
        (2e18, "2,000 PB"),
    ],
)
def test_a_size_has_three_digits(size, text):
    assert quantity.render_size(size) == text


def test_a_share_is_whole_only_when_it_is_whole():
    assert quantity.render_percent(0.999) == "99 %"
    assert quantity.render_percent(1.0) == "100 %"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (0.0123, "0.012"),
        (0.5531, "0.553"),
        (2.65, "2.65"),
        (9.996, "10.0"),
        (82.13, "82.1"),
        (1240.4, "1,240"),
    ],
)
def test_a_figure_keeps_what_a_reader_can_use(value, text):
    assert quantity.render_figure(value) == text


def test_a_time_of_day_is_shown_in_the_zone_asked_for():
    assert quantity.render_clock(NOON, UTC) == "12:00:00"
    assert quantity.render_clock(NOON, timezone(timedelta(hours=2))) == "14:00:00"
    assert quantity.render_clock(None) == "--:--:--"


def test_an_instant_in_json_is_utc_with_milliseconds():
    assert quantity.render_rfc3339(NOON) == "2026-11-29T12:00:00.250Z"
    assert quantity.render_rfc3339(None) is None


@given(st.floats(min_value=0, max_value=1e9))
def test_a_duration_is_short(seconds):
    assert len(quantity.render_duration(seconds)) <= 12


def test_an_interval_stands_behind_the_figure_and_its_unit():
    step = Estimate(0.0288, 0.027, 0.0301)

    assert quantity.render_estimate(Estimate(0.634, 0.6, 0.67), "x") == "0.63x (0.60 to 0.67)"
    assert quantity.render_estimate(step, " ms", digits=1, scale=1000) == "28.8 ms (27.0 to 30.1)"
    assert quantity.render_estimate(Estimate(2.5)) == "2.50"
