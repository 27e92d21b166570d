from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from firedup.core.model import Process, Progress, RankState, Snapshot, Stage, StageSpan
from firedup.view.pace import Pace
from firedup.view.phrase import (
    find_behind,
    join_names,
    say_last_line,
    say_processes,
    say_progress,
    say_ranks,
)
from tests.view import story


def at_ranks(*ranks):
    return replace(story.loading(), ranks=ranks)


def test_ranks_that_are_behind_are_named():
    assert say_ranks(story.loading()) == "6 of 8 ranks have loaded; TP3, TP5 not"


def test_a_rank_in_the_next_stage_is_ahead():
    snapshot = at_ranks(RankState("TP0", Stage.GRAPH_CAPTURE), RankState("TP1", Stage.LOAD_WEIGHTS))

    assert say_ranks(snapshot) == "1 of 2 ranks has loaded; TP1 not"


def test_ranks_that_are_together_are_not_worth_a_word():
    assert say_ranks(at_ranks(*(RankState(f"TP{n}", Stage.WARMUP) for n in range(8)))) == ""
    assert find_behind(at_ranks()) is None


def test_ranks_between_two_stages_are_not_behind():
    snapshot = at_ranks(
        RankState("TP0", Stage.LOAD_WEIGHTS, True), RankState("TP1", Stage.KV_CACHE)
    )

    assert find_behind(snapshot) is None


def test_the_first_rank_of_a_stage_that_comes_late_is_not_behind():
    # SGLang loads the drafter after the target's graphs, and then makes room for its cache again.
    spans = (
        StageSpan(Stage.KV_CACHE, None, "host", 1.0, None, True),
        StageSpan(Stage.GRAPH_CAPTURE, None, "host", 9.0, None, True),
        StageSpan(Stage.DRAFT_LOAD, None, "host", 4.0, None, True),
    )
    explanation = replace(story.EXPLANATION, stage=Stage.DRAFT_LOAD, stages=spans)
    first = RankState("TP0", Stage.DRAFT_LOAD)
    others = tuple(RankState(f"TP{n}", Stage.GRAPH_CAPTURE, True) for n in (1, 2))
    loading = replace(story.loading(), explanation=explanation, ranks=(first, *others))
    again = replace(
        loading,
        explanation=replace(explanation, stage=Stage.KV_CACHE),
        ranks=(RankState("TP0", Stage.KV_CACHE), RankState("TP1", Stage.DRAFT_LOAD)),
    )

    assert find_behind(loading) is None
    assert find_behind(again) == (Stage.DRAFT_LOAD, ("TP1",))


def test_one_rank_has_its_own_cache():
    ranks = (RankState("TP0", Stage.KV_CACHE, True), RankState("TP1", Stage.KV_CACHE))
    explanation = replace(story.EXPLANATION, stage=Stage.KV_CACHE)
    snapshot = replace(story.loading(), explanation=explanation, ranks=ranks)

    assert say_ranks(snapshot) == "1 of 2 ranks has its cache; TP1 not"


def test_nobody_is_behind_a_server_that_is_up():
    ranks = (RankState("TP0", Stage.WARMUP), RankState("TP1", Stage.COMPILE))

    assert find_behind(replace(story.ready(), ranks=ranks)) is None


def test_many_names_are_counted():
    names = tuple(f"TP{n}" for n in range(7))

    assert join_names(names[:5]) == "TP0, TP1, TP2, TP3, TP4"
    assert join_names(names) == "TP0, TP1, TP2, TP3 and 3 more"


def test_a_full_bar_promises_nothing():
    assert say_progress(Progress(Stage.LOAD_WEIGHTS, 64, 64, 90.0, 0.0, "shards")) == (
        "64/64 shards 100 %"
    )
    assert say_progress(Progress(Stage.LOAD_WEIGHTS, 1, 64, 1.0, None)) == "1/64 2 %"


def moment(seconds, *processes):
    return replace(story.loading(seconds), processes=processes)


def process(pid=1, cpu_s=0.0, read=0):
    return Process(pid, 7, 0, "x", "R", cpu_s, 1_000_000_000, read)


def test_the_pace_is_the_difference_of_two_samples():
    pace = Pace().feed(moment(0, process())).feed(moment(0.4, process()))
    pace = pace.feed(moment(2, process(cpu_s=3, read=4_000_000_000)))

    assert (pace.cpu_cores, pace.read_bytes_per_s) == (1.5, 2e9)
    assert say_processes(moment(2, process()), pace) == (
        "pid 1 · 1.5 cores busy · 1.00 GB memory · reads 2.00 GB/s"
    )


def test_a_process_that_went_away_does_not_make_the_pace_negative():
    pace = Pace().feed(moment(0, process(1, 50.0), process(2, 10.0)))

    assert pace.feed(moment(1, process(2, 10.5))).cpu_cores == 0.5


def test_a_sample_that_does_not_change_means_idle():
    pace = Pace().feed(moment(0, process(1, 5.0))).feed(moment(1, process(1, 6.0)))

    assert pace.feed(moment(2, process(1, 6.0))).cpu_cores == 1.0
    assert pace.feed(moment(5, process(1, 6.0))).cpu_cores == 0.0


@given(st.lists(st.tuples(st.sampled_from(list(Stage)), st.booleans()), max_size=8))
def test_those_behind_are_never_all(places):
    ranks = tuple(RankState(f"TP{n}", *place) for n, place in enumerate(places))
    found = find_behind(replace(story.loading(), ranks=ranks))

    assert found is None or 0 < len(found[1]) < len(ranks)


def test_the_last_line_is_its_message():
    text = "0.00.016.799 E srv  llama_server: exiting due to HTTP server error"
    last = replace(story.line("", 1), text=text, message=text)

    assert say_last_line(replace(story.loading(), last_line=last)) == (
        "exiting due to HTTP server error"
    )


def test_nothing_is_known_of_a_server_without_processes():
    empty = Snapshot(0, None, story.EXPLANATION)

    assert say_processes(empty, Pace().feed(empty)) == ""
