from dataclasses import replace
from datetime import UTC

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from firedup.core.link import LinkState
from firedup.core.model import (
    Checks,
    Evidence,
    Finding,
    Ownership,
    RankState,
    Severity,
    Stage,
    State,
    Verdict,
)
from firedup.view.paper import Paper
from firedup.view.plain import Plain
from tests.view import story


def plain(**options):
    return Plain(Paper(columns=100), zone=UTC, **options)


def tell(view, snapshots):
    return "\n".join(line for one in snapshots for line in view.feed(one))


def test_a_start_is_told_in_one_line_per_change():
    shards = [story.loading(15.6 + 5 * n, n) for n in range(1, 63, 4)]
    graphs = [story.capturing(340 + 7 * n, n) for n in range(1, 34, 6)]

    assert tell(plain(every_s=60), [*shards, *graphs, story.ready()]) == snapshot("""\
12:02:37 +00:00 kimi-drafter · sglang 0.5.9 · Kimi-K2.5-INT4 + drafter · port 30000
12:02:37 +00:00 args
12:02:43 +00:06 dist-init  (args took 6.2 s)
12:02:57 +00:20 load-weights 1/64 shards 2 % ~3 min left  TP3, TP5 behind  (dist-init took 9.4 s)
12:03:37 +01:00 load-weights 9/64 shards 14 % ~3 min left  TP3, TP5 behind
12:04:17 +01:40 load-weights 17/64 shards 27 % ~3 min left  TP3, TP5 behind
12:04:57 +02:20 load-weights 25/64 shards 39 % ~3 min left  TP3, TP5 behind
12:05:37 +03:00 load-weights 33/64 shards 52 % ~3 min left  TP3, TP5 behind
12:06:17 +03:40 load-weights 41/64 shards 64 % ~3 min left  TP3, TP5 behind
12:06:57 +04:20 load-weights 49/64 shards 77 % ~3 min left  TP3, TP5 behind
12:07:37 +05:00 load-weights 57/64 shards 89 % ~3 min left  TP3, TP5 behind
12:08:05 +05:28 draft-load  (load-weights took 5 min 13 s)
12:08:09 +05:32 kv-cache  (draft-load took 4.1 s)
12:08:24 +05:47 graph-capture 1/36 batches 3 % ~2 min left  (kv-cache took 2.2 s)
12:09:06 +06:29 graph-capture 7/36 batches 19 % ~2 min left
12:09:48 +07:11 graph-capture 13/36 batches 36 % ~2 min left
12:10:30 +07:53 graph-capture 19/36 batches 53 % ~2 min left
12:11:12 +08:35 graph-capture 25/36 batches 69 % ~2 min left
12:11:54 +09:17 graph-capture 31/36 batches 86 % ~2 min left
12:12:16 +09:39 warmup  (graph-capture took 4 min 4 s)
12:12:20 +09:43 warmup took 3.4 s
12:12:20 +09:43 checks: log · health 200 · own port · token
12:12:20 +09:43 ready\
""")


def test_a_stage_passed_between_two_snapshots_is_told_with_its_own_time():
    view = plain()
    view.feed(story.loading(300, 63))

    assert view.feed(replace(story.capturing(340), progress=None, waiting_for="")) == (
        "12:08:05 +05:28 draft-load  (load-weights took 5 min 13 s)",
        "12:08:09 +05:32 kv-cache  (draft-load took 4.1 s)",
        "12:08:12 +05:35 graph-capture  (kv-cache took 2.2 s)",
    )


def test_what_the_last_stage_took_is_told_before_ready():
    view = plain()
    view.feed(story.capturing(578))

    assert "12:12:20 +09:43 warmup took 3.4 s" in view.feed(story.ready())


def test_a_heartbeat_says_what_is_known_when_nothing_changes():
    view = plain(every_s=30)
    view.feed(story.loading(100))
    busy = tuple(
        replace(p, cpu_s=p.cpu_s + 31, read_bytes=p.read_bytes + 4_000_000_000)
        for p in story.PROCESSES
    )

    assert view.feed(story.loading(129)) == ()
    late = replace(story.loading(131), quiet_s=31.0, processes=busy)
    (line,) = view.feed(late)
    assert line.split("  ") == [
        "12:04:48 +02:11 load-weights 23/64 shards 36 % ~3 min left",
        "TP3, TP5 behind",
        "log quiet for 31 s",
        "pid 4200 and 8 more · 9.0 cores busy · 61.1 GB memory · reads 1.16 GB/s",
    ]
    assert view.feed(story.loading(132)) == ()


def loaded(seconds, late, **facts):
    """The bar is gone and the ranks in `late` have not loaded yet."""
    ranks = tuple(RankState(f"TP{n}", Stage.LOAD_WEIGHTS, n not in late) for n in range(8))
    return replace(story.loading(seconds), progress=None, waiting_for="", ranks=ranks, **facts)


def test_ranks_that_stand_apart_are_named_once_it_lasts():
    view = plain(every_s=60)
    view.feed(story.loading(199, 63))
    view.feed(loaded(200, range(8)))

    assert view.feed(loaded(201, (1, 2, 3, 5))) == ()
    assert view.feed(loaded(210, (3, 5))) == ()
    assert view.feed(loaded(211, (3, 5))) == (
        "12:06:08 +03:31 6 of 8 ranks have loaded; TP3, TP5 not",
    )
    assert view.feed(loaded(212, (3, 5))) == ()
    assert view.feed(loaded(215, (5,))) == ()
    assert view.feed(loaded(221, (5,))) == ("12:06:18 +03:41 7 of 8 ranks have loaded; TP5 not",)
    assert view.feed(loaded(224, ())) == ("12:06:21 +03:44 all 8 ranks have loaded",)
    assert view.feed(loaded(225, ())) == ()


def test_ranks_that_soon_meet_again_cost_no_line():
    view = plain()
    view.feed(loaded(200, range(8)))

    assert view.feed(loaded(201, (3,))) == ()
    assert view.feed(loaded(205, ())) == ()


def test_a_heartbeat_names_the_ranks_that_lag():
    view = plain(every_s=8)
    view.feed(loaded(200, (3, 5)))

    (line,) = view.feed(loaded(209, (3, 5)))
    assert "load-weights for 3 min 13 s  6 of 8 ranks have loaded; TP3, TP5 not  pid" in line


def test_a_wait_is_told_while_no_bar_moves():
    waiting = replace(story.loading(0), progress=None, ranks=(), waiting_for="the log to appear")

    assert plain().feed(waiting)[-1].endswith(" waits for the log to appear")


def without_link(second, down_s, trouble="link-down"):
    link = LinkState(down_s, trouble, "broken pipe", 4.0)
    return replace(story.loading(second), state=State.UNREACHED, link=link)


def test_a_link_that_is_down_is_no_verdict_on_the_server():
    view = plain()
    view.feed(story.loading(100))

    down = view.feed(without_link(101, 2))
    again = view.feed(story.loading(102))

    assert down == (
        (
            "12:04:18 +01:41 no link for 2 s (the connection broke); "
            "the server's state is unknown; next try in 4 s"
        ),
    )
    assert again == ("12:04:19 +01:42 the link is up again, after 2 s",)


def test_a_link_that_stays_down_is_told_at_times_and_when_the_trouble_changes():
    view = plain()
    view.feed(story.loading(100))
    said = [second for second in range(1, 200) if view.feed(without_link(100, second))]
    changed = view.feed(without_link(100, 200, "unreached"))

    assert said == [1, 30, 60, 120]
    assert "the host cannot be reached" in changed[0]


def test_a_stall_that_ends_is_taken_back():
    view = plain()
    view.feed(story.capturing(440))

    assert "stalled" in view.feed(replace(story.stalled(900), is_final=False))[-1]
    assert view.feed(story.capturing(901))[-1].endswith(" it moves again")


def test_a_crash_is_told_with_the_line_that_is_its_cause():
    view = Plain(Paper(columns=40), zone=UTC)
    view.feed(story.capturing(423))

    *_, line = view.feed(replace(story.crashed(424), is_final=False))
    time, said = line.split(" crashed: ")
    assert time == "12:09:41 +07:04"
    assert said == "torch.OutOfMemoryError: CUDA out of memory. Tried to allocat…ory in use."


def test_the_end_is_the_final_statement():
    view = plain()
    view.feed(story.capturing(423))
    lines = view.close(story.crashed(424))

    assert lines[0] == "12:09:41 +07:04 the process ended by signal 9 (SIGKILL)"
    assert "✗ crashed in graph-capture after 7 min 4 s" in lines
    assert not any("\n" in line for line in lines)


def test_lines_are_ascii_where_the_locale_wants_it():
    view = Plain(Paper(columns=80, has_unicode=False), zone=UTC)

    assert all(line.isascii() for line in view.feed(story.loading()) + view.close(story.crashed()))


def test_what_the_stage_says_already_is_not_repeated():
    quiet = replace(
        story.loading(),
        progress=None,
        ranks=(),
        waiting_for="load-weights to finish",
        checks=Checks(log=False),
    )
    lines = plain().feed(quiet)

    assert [line.split(" ", 2)[2] for line in lines[1:]] == [
        "args",
        "dist-init  (args took 6.2 s)",
        "load-weights  (dist-init took 9.4 s)",
    ]


def test_what_a_stage_took_is_told_though_the_last_rank_ended_it_late():
    view = plain()
    behind = (RankState("TP0", Stage.LOAD_WEIGHTS), RankState("TP1", Stage.GRAPH_CAPTURE))
    view.feed(replace(story.capturing(340), ranks=behind, progress=None))
    view.feed(replace(story.capturing(341), ranks=behind[1:], progress=None))
    explanation = replace(
        story.capturing(581).explanation, stage=Stage.WARMUP, stages=story.spans_until(581)
    )

    warm = replace(story.capturing(581), ranks=(), progress=None, explanation=explanation)
    assert view.feed(warm)[0].endswith(
        "warmup  (load-weights took 5 min 13 s, graph-capture took 4 min 4 s)"
    )


def test_a_finding_that_only_lasts_longer_is_told_once():
    view = plain()
    for seconds in range(11, 71, 10):
        finding = Finding("rank-stopped", Severity.SEVERE, f"TP1 has been stopped for {seconds} s.")
        stuck = replace(story.loading(100 + seconds), progress=None)
        stuck = replace(stuck, explanation=replace(stuck.explanation, findings=(finding,)))
        told = [line for line in view.feed(stuck) if "rank-stopped" in line]
        assert len(told) == (seconds == 11)


def test_an_empty_bar_is_not_told():
    view = plain()
    first = view.feed(replace(story.loading(20, 0), ranks=()))

    assert "0/64" in first[-1]  # beside the stage's name it costs no line
    assert view.feed(replace(story.capturing(340, 0)))[0].endswith("(load-weights took 5 min 13 s)")


def answered(seconds, **checks):
    """Nothing moves but the answers."""
    quiet = replace(story.ready(seconds), is_final=False, state=State.STARTING, ready_after_s=None)
    explanation = replace(quiet.explanation, verdict=Verdict.LOADING, stage=Stage.WARMUP, stages=())
    waiting = "the health route to answer 200" if checks.get("health") != 200 else "the first token"
    return replace(
        quiet, explanation=explanation, checks=Checks(log=True, **checks), waiting_for=waiting
    )


def test_answers_of_one_second_are_one_line_and_a_wait_that_is_over_none():
    view = plain()
    view.feed(replace(answered(581), checks=Checks(), waiting_for=""))
    told = [
        view.feed(answered(582)),
        view.feed(answered(582.2, health=503)),
        view.feed(answered(582.4, health=200, owner=Ownership.YES)),
        view.feed(answered(583.1, health=200, owner=Ownership.YES)),
        view.feed(answered(584, health=200, owner=Ownership.YES, token=True)),
        view.feed(answered(585.5, health=200, owner=Ownership.YES, token=True)),
    ]

    assert told == [
        (),
        (),
        (),
        (
            "12:12:19 +09:42 checks: log · health 200 · own port",
            "12:12:20 +09:43 waits for the first token",
        ),
        (),
        ("12:12:21 +09:44 checks: token",),
    ]


def test_answers_that_nobody_waited_out_are_told_at_the_end():
    view = plain()
    view.feed(replace(answered(581), checks=Checks(), waiting_for=""))

    lines = view.close(answered(582, health=503, owner=Ownership.NO))
    assert lines[0] == "12:12:19 +09:42 checks: log · health 503 · port of another server"


def test_who_comes_later_reads_the_times_of_what_happened():
    late = replace(story.ready(583), elapsed_s=825.0, now_ns=1725 * story.SECOND)
    late = replace(late, wall_ns=story.at(825), is_final=False)
    view = plain()

    lines = view.feed(late)
    assert lines[0].startswith("12:02:37 +00:00 kimi-drafter")
    assert lines[-2:] == (
        "12:12:20 +09:43 checks: log · health 200 · own port · token",
        "12:12:20 +09:43 ready",
    )


@pytest.mark.parametrize("verdict", [Verdict.CRASHED, Verdict.STOPPED])
def test_of_what_is_over_only_the_passage_is_told(verdict):
    over = story.crashed(424)
    over = replace(
        over,
        explanation=replace(over.explanation, verdict=verdict),
        elapsed_s=9000.0,
        now_ns=over.now_ns + 8576 * story.SECOND,
        wall_ns=story.at(9000),
        checks=Checks(log=True, health=200),
        waiting_for="the health route to answer 200",
    )
    view = plain()
    told = [*view.feed(over), *view.close(over)]
    lines = [line for line in told if line.startswith("12:")]

    assert [line.split(" ")[2] for line in lines] == [
        *("kimi-drafter", "args", "dist-init", "load-weights", "draft-load", "kv-cache"),
        "graph-capture",
    ]
    assert told[len(lines)].startswith(("✗ crashed in graph-capture after 7 min 4 s", "● stopped"))


@given(
    st.lists(
        st.sampled_from(
            [
                *(story.loading(20 + 9 * n, n) for n in range(9)),
                *(story.capturing(340 + 7 * n, n) for n in range(9)),
                *(replace(story.loading(100 + n), state=State.UNREACHED) for n in range(2)),
                *(answered(575 + n / 3, health=200) for n in range(9)),
                story.ready(583),
                story.crashed(584),
            ]
        ),
        min_size=1,
        max_size=8,
    )
)
def test_no_line_is_older_than_the_line_before(moments):
    moments = sorted(moments, key=lambda moment: moment.now_ns)
    lines = tell(plain(every_s=10), moments).split("\n")
    times = [line.split(" ")[0] for line in lines if line]

    assert times == sorted(times)


def test_a_finding_whose_evidence_counts_on_is_told_once():
    view = plain()
    told = []
    for second in range(3):
        evidence = (Evidence("sample", f"idle for {second} s"),)
        finding = Finding("no-progress", Severity.SEVERE, "Nothing moves.", evidence)
        at = story.capturing(440 + second)
        told += view.feed(replace(at, explanation=replace(at.explanation, findings=(finding,))))

    assert len([line for line in told if "no-progress" in line]) == 1
