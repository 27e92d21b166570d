from dataclasses import replace
from datetime import UTC

from firedup.core.forecast import Eta, Forecast
from firedup.core.model import Verdict
from firedup.view.classic import Classic
from tests.view import story


def with_highlight(seconds):
    return replace(story.loading(seconds), highlight=story.line("Load weight begin.", 40))


def test_a_waiting_line_comes_every_so_many_seconds():
    view = Classic(every_s=15, zone=UTC)
    lines = [line for second in range(46) for line in view.feed(story.loading(second))]

    assert lines == [
        "12:02:52 waiting... last: (no match)",
        "12:03:07 waiting... last: (no match)",
        "12:03:22 waiting... last: (no match)",
    ]


def test_the_last_matching_line_is_cut_to_the_width():
    view = Classic(width=30, every_s=15, zone=UTC)
    view.feed(story.loading(0))

    assert view.feed(with_highlight(15)) == (
        "12:02:52 waiting... last: [2026-11-29 12:07:37 TP0] Load",
    )


def test_what_is_known_of_the_rest_of_the_start_comes_last():
    view = Classic(every_s=15, zone=UTC)
    view.feed(story.loading(0))
    ready = Forecast(110.0, 60.0, 240.0, "history", 12, (40.0, 300.0))

    assert view.feed(replace(with_highlight(15), eta=Eta(ready=ready))) == (
        f"{with_highlight_line()}  [ready in ~2 min (1 min–4 min in 80 % of 12 starts)]",
    )


def with_highlight_line():
    view = Classic(every_s=15, zone=UTC)
    view.feed(story.loading(0))
    (line,) = view.feed(with_highlight(15))
    return line


def test_a_gap_in_the_snapshots_is_not_made_up_for():
    view = Classic(every_s=15, zone=UTC)
    view.feed(story.loading(0))

    assert len(view.feed(story.loading(100))) == 1
    assert view.feed(story.loading(104)) == ()
    assert len(view.feed(story.loading(105))) == 1


def test_ready_is_said_at_once_and_once():
    view = Classic(zone=UTC)
    view.feed(story.loading(580))

    assert view.feed(story.ready(583)) == ("SERVER READY at 12:12:20",)
    assert view.feed(story.ready(600)) == ()
    assert view.close(story.crashed(601)) == ()


def test_a_crash_is_said_with_the_tail_of_the_log():
    view = Classic(tail=2, zone=UTC)
    crash = replace(story.crashed(), tail=("a", "\tb\r", "1%\r2%\rc \x1b[31mHF_TOKEN=hunter2"))

    assert view.feed(crash) == ("CRASHED!", "\tb", "c HF_TOKEN=[redacted]")


def test_a_tail_of_nothing_is_nothing():
    assert Classic(tail=0).feed(story.crashed()) == ("CRASHED!",)


def test_the_end_of_the_time_limit_is_not_silent():
    late = story.loading(1800)
    explanation = replace(late.explanation, verdict=Verdict.TIMED_OUT)

    lines = Classic(zone=UTC).feed(replace(late, explanation=explanation, is_final=True))

    assert lines == ("TIMED OUT at 12:32:37",)
