"""Gauges are collected over time, in one unit, each line once."""

from __future__ import annotations

import pytest

from firedup.core.model import Line
from firedup.core.rule import Hit, Role, Rule
from firedup.core.verdict.reading import Readings


def read(name: str, *values: str, offsets: list[int] | None = None) -> Readings:
    rule = Rule("g", "", role=Role.GAUGE, gauges=(name,))
    readings = Readings()
    for index, value in enumerate(values):
        offset = offsets[index] if offsets else index
        readings.feed(Hit(rule, Line(offset, offset + 1, 1, "", ""), {name: value}))
    return readings


def test_last_mean_and_extremes_are_kept() -> None:
    (gauge,) = read("accept_length", "2.0", "4.0", "3.0").gauges()

    assert (gauge.last, gauge.mean, gauge.least, gauge.greatest) == (3.0, 3.0, 2.0, 4.0)


def test_percent_becomes_a_fraction() -> None:
    (gauge,) = read("accept_rate_percent", "68.6").gauges()

    assert gauge.name == "accept_rate"
    assert gauge.last == pytest.approx(0.686)


def test_a_line_that_was_read_before_does_not_count_again() -> None:
    (gauge,) = read("accept_length", "2.0", "2.0", offsets=[7, 7]).gauges()

    assert gauge.count == 1


@pytest.mark.parametrize("text", ["nan", "inf", "-", "1.2.3"])
def test_what_is_no_number_is_no_reading(text: str) -> None:
    assert read("accept_length", text).gauges() == ()


def test_thousands_are_read() -> None:
    (gauge,) = read("generation_tokens_per_s", "1,234.5").gauges()

    assert gauge.last == 1234.5
