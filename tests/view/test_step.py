from dataclasses import replace

from firedup.core.model import RankState, Snapshot, Stage, StageSpan, Verdict
from firedup.view.step import Steps
from tests.view import story

AT = story.at(0)


def moment(*spans, stage=None, ranks=(), starts=1) -> Snapshot:
    explanation = replace(
        story.EXPLANATION, stage=stage or spans[-1].stage, stages=spans, starts=starts
    )
    return replace(story.loading(), explanation=explanation, ranks=ranks)


def span(stage, seconds=None, rank=None):
    return StageSpan(stage, AT, "host", seconds, rank, seconds is not None)


def told(steps):
    return [(step.stage, step.seconds if step.is_end else "begins") for step in steps]


def test_a_stage_that_came_and_went_unseen_is_told_whole():
    steps = Steps()
    steps.feed(moment(span(Stage.ARGS)))
    passed = moment(span(Stage.ARGS, 1.0), span(Stage.LOAD_WEIGHTS, 2.0), span(Stage.KV_CACHE))

    assert told(steps.feed(passed)) == [
        (Stage.ARGS, 1.0),
        (Stage.LOAD_WEIGHTS, "begins"),
        (Stage.LOAD_WEIGHTS, 2.0),
        (Stage.KV_CACHE, "begins"),
    ]
    assert steps.feed(passed) == ()


def test_a_load_is_over_when_all_ranks_have_loaded():
    steps = Steps()
    first = RankState("TP0", Stage.KV_CACHE)
    late = moment(
        span(Stage.LOAD_WEIGHTS, 5.0, "TP0"),
        span(Stage.KV_CACHE),
        ranks=(first, RankState("TP1", Stage.LOAD_WEIGHTS)),
    )
    done = moment(
        span(Stage.LOAD_WEIGHTS, 9.0, "TP1"),
        span(Stage.KV_CACHE),
        ranks=(first, RankState("TP1", Stage.LOAD_WEIGHTS, True)),
    )

    assert told(steps.feed(late)) == [(Stage.LOAD_WEIGHTS, "begins"), (Stage.KV_CACHE, "begins")]
    assert told(steps.feed(done)) == [(Stage.LOAD_WEIGHTS, 9.0)]


def test_a_stage_that_comes_back_begins_again():
    steps = Steps()
    steps.feed(moment(span(Stage.GRAPH_CAPTURE, 150.0), span(Stage.DRAFT_LOAD)))
    again = moment(
        span(Stage.GRAPH_CAPTURE), span(Stage.DRAFT_LOAD, 4.0), stage=Stage.GRAPH_CAPTURE
    )
    over = moment(span(Stage.GRAPH_CAPTURE, 210.0), span(Stage.DRAFT_LOAD, 4.0), span(Stage.READY))

    ended, begun = steps.feed(replace(again, stage_elapsed_s=2.0))
    assert told((ended, begun)) == [(Stage.DRAFT_LOAD, 4.0), (Stage.GRAPH_CAPTURE, "begins")]
    assert begun.began_ns == again.wall_ns - 2_000_000_000
    assert told(steps.feed(over)) == [(Stage.GRAPH_CAPTURE, 60.0), (Stage.READY, "begins")]


def test_ready_is_a_moment_that_never_ends():
    steps = Steps()
    steps.feed(moment(span(Stage.READY)))

    assert told(steps.feed(moment(span(Stage.READY, 5.0), span(Stage.SERVING)))) == [
        (Stage.SERVING, "begins")
    ]


def test_a_second_start_tells_its_stages_anew():
    steps = Steps()
    steps.feed(moment(span(Stage.ARGS, 1.0), span(Stage.LOAD_WEIGHTS)))

    assert told(steps.feed(moment(span(Stage.ARGS), starts=2))) == [(Stage.ARGS, "begins")]


def test_a_crash_ends_no_stage():
    steps = Steps()
    steps.feed(story.capturing())
    crashed = story.crashed()

    assert crashed.explanation.verdict is Verdict.CRASHED
    assert steps.feed(crashed) == ()


def test_a_stage_without_a_line_of_its_own_is_told_too():
    assert told(Steps().feed(moment(stage=Stage.OTHER))) == [(Stage.OTHER, "begins")]
