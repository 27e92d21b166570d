"""A forecast in words and as JSON."""

from dataclasses import replace

import pytest

from firedup.core.forecast import Eta, Forecast
from firedup.core.model import Verdict
from firedup.view.eta import record_eta, say_eta
from firedup.view.panel import render_panel
from firedup.view.paper import Paper
from firedup.view.plain import Plain
from tests.view import story

KNOWN = Forecast(118.0, 62.0, 241.0, "history+bar", 12, (300.0, 620.0))


def loading(ready, stage=None):
    return replace(story.loading(), eta=Eta(stage, ready))


@pytest.mark.parametrize(
    ("ready", "said"),
    [
        (KNOWN, "in ~2 min (1 min 2 s–4 min in 80 % of 12 starts)"),
        (Forecast(starts=3, seen_s=(40.6, 58.2)), "seen: 41 s–58 s in 3 starts"),
        (Forecast(starts=1, seen_s=(40.6, 40.6)), "seen: 41 s in 1 start"),
        (
            Forecast(starts=7, seen_s=(40.6, 58.2), is_overdue=True),
            "later than in any of 7 starts (seen: 41 s–58 s)",
        ),
    ],
)
def test_a_forecast_of_ready_is_told_with_what_it_rests_on(ready, said):
    assert say_eta(loading(ready)) == said


def test_bytes_are_told_where_no_bar_shows_the_same():
    stage = Forecast(118.0, basis="bytes")

    assert say_eta(replace(loading(None, stage), progress=None)) == (
        "load-weights ~2 min more, by bytes read"
    )
    assert say_eta(loading(None, Forecast(118.0, basis="bar"))) == ""


def test_a_server_that_is_not_loading_has_no_forecast():
    now = loading(KNOWN)
    stalled = replace(now, explanation=replace(now.explanation, verdict=Verdict.STALLED))

    assert say_eta(stalled) == ""


def test_the_picture_and_the_heartbeat_show_it():
    panel = "\n".join(render_panel(loading(KNOWN), Paper(100)))
    view = Plain(Paper(200), every_s=10)
    view.feed(loading(KNOWN))
    later = replace(loading(KNOWN), now_ns=loading(KNOWN).now_ns + 11 * story.SECOND)

    assert "in ~2 min (1 min 2 s–4 min in 80 % of 12 starts)" in panel
    assert "ready in ~2 min" in view.feed(later)[-1]


def test_as_json_it_has_its_interval_and_its_basis():
    assert record_eta(Eta(None, KNOWN)) == {
        "stage": None,
        "ready": {
            "remaining_s": 118.0,
            "low_s": 62.0,
            "high_s": 241.0,
            "share": 0.8,
            "basis": "history+bar",
            "starts": 12,
            "seen_s": [300.0, 620.0],
            "overdue": False,
        },
    }
