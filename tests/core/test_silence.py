"""How long a start made no progress, by the time stamps of its log."""

from __future__ import annotations

import pytest

from firedup.core.log.line import decode_line
from firedup.core.model import Line, Stage
from firedup.core.verdict.silence import DEFAULT_PATIENCE_S, PATIENCE_S, Silence, measure_silence


def line(text: str, year: int = 2026) -> Line:
    return decode_line(text.encode(), offset=7, end=8, number=3, is_progress=False, year=year)


def measure(since: str, *later: str, stage: Stage = Stage.KV_CACHE, bar_s: float = 0.0) -> Silence:
    begun = line(since)
    return measure_silence(begun, begun, [line(text) for text in later], stage, bar_s)


LOADED = "[2026-03-04 09:00:00 TP0] Load weight end. elapsed=3.1 s"


def test_time_stamps_that_go_on_elsewhere_show_how_long_nothing_moved() -> None:
    silence = measure(LOADED, "[2026-03-04 09:20:00] GET /health 503", "no stamp here")

    assert silence.seconds == 1200
    assert silence.is_too_long
    assert [e.text for e in silence.evidence] == [
        LOADED,
        "[2026-03-04 09:20:00] GET /health 503",
    ]


def test_a_log_that_ends_with_its_progress_shows_no_silence() -> None:
    assert measure(LOADED, LOADED).seconds is None
    assert measure(LOADED).seconds is None


def test_what_a_stage_may_need_differs() -> None:
    late = "[2026-03-04 09:20:00] tick"

    assert measure(LOADED, late, stage=Stage.KV_CACHE).is_too_long
    assert not measure(LOADED, late, stage=Stage.LOAD_WEIGHTS).is_too_long
    assert not measure(LOADED, late, stage=Stage.GRAPH_CAPTURE).is_too_long
    assert PATIENCE_S[Stage.LOAD_WEIGHTS] > DEFAULT_PATIENCE_S


def test_a_bar_that_moved_without_time_stamps_was_no_silence() -> None:
    silence = measure(LOADED, "[2026-03-04 09:20:00] tick", bar_s=1000.0)

    assert silence.seconds == 200


@pytest.mark.parametrize(
    "other",
    [
        "2026-03-04T17:20:00Z a line that only the collector dated",  # its clock, hours away
        "INFO 03-04 17:20:00 [loader.py:3] a year that was guessed",
        "1.20.000.000 I srv  load_model: since the start of the process",
    ],
)
def test_stamps_of_another_clock_are_not_compared(other: str) -> None:
    assert measure(LOADED, other).seconds is None
