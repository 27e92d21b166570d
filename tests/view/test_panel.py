from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from firedup.core.model import Checks, Ownership, Snapshot, Stage, StageSpan, State
from firedup.view.bar import render_bar
from firedup.view.pace import Pace
from firedup.view.panel import render_panel
from firedup.view.paper import Paper, count_columns
from tests.view import story


def draw(moment, columns, *, rows=40, is_closed=False, age_s=0.0, **paper):
    lines = render_panel(
        moment, Paper(columns=columns, **paper), rows=rows, is_closed=is_closed, age_s=age_s
    )
    return "\n".join(lines)


def test_loading_on_a_wide_terminal():
    assert draw(story.loading(), 100) == snapshot("""\
kimi-drafter · sglang 0.5.9 · Kimi-K2.5-INT4 + drafter · port 30000                           +02:11
✓ args                6.2 s
✓ dist-init           9.4 s
⠇ load-weights   1 min 55 s  ━━━━━━━━━━╸───────────────────  23/64 shards 36 % ~3 min left
○ ready  · log  · health  · own port  · token

  ranks       6 of 8 ranks have loaded; TP3, TP5 not
  waits for   the weights of TP3 and TP5
  last line   Loading safetensors checkpoint shards:  36% Completed | 23/64
  processes   pid 4200 and 8 more · 61.1 GB memory\
""")


def test_loading_on_a_terminal_of_sixty_columns():
    assert draw(story.loading(), 60) == snapshot("""\
kimi-drafter · sglang 0.5.9 · Kimi-K2.5-INT4 + draf…  +02:11
✓ args                6.2 s
✓ dist-init           9.4 s
⠇ load-weights   1 min 55 s  23/64 shards 36 % ~3 min left
○ ready  · log  · health  · own port  · token

  ranks       6 of 8 ranks have loaded; TP3, TP5 not
  waits for   the weights of TP3 and TP5
  last line   Loading safetensors che… 36% Completed | 23/64
  processes   pid 4200 and 8 more · 61.1 GB memory\
""")


def test_loading_on_forty_columns_of_ascii():
    assert draw(story.loading(), 40, has_unicode=False) == snapshot("""\
kimi-drafter                      +02:11
+ args                             6.2 s
+ dist-init                        9.4 s
| load-weights                1 min 55 s
  ===========>--------------------  36 %
  23/64 shards ~3 min left
o ready - log - health - port - token

  6 of 8 ranks have loaded; TP3, TP5 not
  waits for the weights of TP3 and TP5
  Loading safetensor...Completed | 23/64
  pid 4200 and 8 more - 61.1 GB memory\
""")


def test_graph_capture_shows_what_came_before():
    assert draw(story.capturing(), 100) == snapshot("""\
kimi-drafter · sglang 0.5.9 · Kimi-K2.5-INT4 + drafter · port 30000                           +07:30
✓ args                 6.2 s
✓ dist-init            9.4 s
✓ load-weights    5 min 13 s  8 ranks: TP6 5 min 1 s to TP5 5 min 13 s
✓ draft-load           4.1 s
✓ kv-cache             2.2 s
⠋ graph-capture   1 min 54 s  ━━━━━━━━━━━━━━────────────────  17/36 batches 47 % ~2 min left
○ ready  · log  · health  · own port  · token

  waits for   the CUDA graphs
  last line   Capturing batches (bs=112 avail_mem=4.39 GB): 47%|####7     | 17/36
  processes   pid 4200 and 8 more · 61.1 GB memory\
""")


def test_the_last_picture_of_a_ready_server():
    assert draw(story.ready(), 100, is_closed=True) == snapshot("""\
kimi-drafter · sglang 0.5.9 · Kimi-K2.5-INT4 + drafter · port 30000                           +09:43
✓ args                 6.2 s
✓ dist-init            9.4 s
✓ load-weights    5 min 13 s  8 ranks: TP6 5 min 1 s to TP5 5 min 13 s
✓ draft-load           4.1 s
✓ kv-cache             2.2 s
✓ graph-capture    4 min 4 s
✓ warmup               3.4 s
✓ ready  after 9 min 43 s\
""")


def test_the_last_picture_of_a_crash_marks_the_stage():
    assert draw(story.crashed(), 100, is_closed=True) == snapshot("""\
kimi-drafter · sglang 0.5.9 · Kimi-K2.5-INT4 + drafter · port 30000                           +07:04
✓ args                 6.2 s
✓ dist-init            9.4 s
✓ load-weights    5 min 13 s  8 ranks: TP6 5 min 1 s to TP5 5 min 13 s
✓ draft-load           4.1 s
✓ kv-cache             2.2 s
✗ graph-capture   1 min 28 s\
""")


def test_a_stall_stops_the_promises():
    text = draw(story.stalled(), 100)

    assert "17/36 batches 47 %\n" in text
    assert "quiet for 8 min 10 s" in text


def test_before_anything_is_known_it_says_what_it_waits_for():
    moment = Snapshot(
        0,
        None,
        replace(story.EXPLANATION, engine=None, version=None),
        waiting_for="the log to appear",
    )

    assert draw(moment, 60) == snapshot("""\
watching                                              +00:00
⠋ ready  · log  · health  · own port  · token

  waits for   the log to appear\
""")


def test_the_checks_of_readiness_are_ticked_off():
    checks = Checks(log=True, health=503, owner=Ownership.NO)

    assert "✓ log  · health  ✗ own port  · token" in draw(
        replace(story.capturing(), checks=checks), 100
    )


def test_a_link_that_is_down_is_said():
    text = draw(replace(story.loading(), state=State.UNREACHED), 100)

    assert "there is no link to the host; the server's state is unknown" in text


def test_time_runs_on_between_snapshots():
    assert "+02:11" in draw(story.loading(131.0), 100)
    assert "+02:16" in draw(story.loading(131.0), 100, age_s=5.0)
    assert "2 min  " in draw(story.loading(131.0), 100, age_s=5.0)


def test_time_stands_still_once_the_verdict_is_final():
    assert draw(story.crashed(), 100, age_s=5.0) == draw(story.crashed(), 100)


def test_a_low_terminal_shows_the_current_stage():
    text = draw(story.capturing(), 100, rows=5)

    assert len(text.split("\n")) == 5
    assert "graph-capture" in text
    assert "load-weights" not in text


def test_a_stage_without_a_span_is_shown_too():
    explanation = replace(story.EXPLANATION, stage=Stage.COMPILE)
    text = draw(replace(story.loading(), explanation=explanation, progress=None), 60)

    assert "compile" in text


@pytest.mark.parametrize("columns", [20, 40, 59, 60, 80, 100, 160])
@pytest.mark.parametrize(
    "make", [story.loading, story.capturing, story.ready, story.crashed, story.stalled]
)
def test_no_line_is_wider_than_the_terminal(columns, make):
    for is_unicode in (True, False):
        text = draw(make(), columns, has_colour=True, has_unicode=is_unicode)
        assert all(count_columns(line) <= columns for line in text.split("\n"))
        assert is_unicode or text.isascii()


def test_what_the_processes_do_is_shown():
    pace = Pace(cpu_cores=7.8, read_bytes_per_s=1.2e9)
    text = "\n".join(render_panel(story.loading(), Paper(columns=100), pace=pace))

    assert "pid 4200 and 8 more · 7.8 cores busy · 61.1 GB memory · reads 1.20 GB/s" in text


@given(st.floats(0, 1), st.integers(1, 60))
def test_a_bar_is_full_only_at_the_end(fraction, columns):
    bar = render_bar(fraction, columns, Paper())

    assert count_columns(bar) == columns
    assert (bar == "━" * columns) == (fraction == 1)


def test_a_silent_log_is_no_alarm_while_the_processes_work():
    moment = replace(story.loading(), quiet_s=250.0)
    paper = Paper(columns=100, has_colour=True)
    idle = "\n".join(render_panel(moment, paper, pace=Pace(0.0, 0.0)))
    busy = "\n".join(render_panel(moment, paper, pace=Pace(0.0, 1.2e9)))

    assert "\x1b[33mquiet for 4 min 10 s\x1b[0m" in idle
    assert "quiet for 4 min 10 s, while its processes work" in busy
    assert "\x1b[33m" not in busy


def test_a_full_bar_is_not_the_end_of_its_stage():
    assert "64/64 shards 100 %, and goes on" in draw(story.loading(done=64), 100)
    assert "64/64 shards, and goes on" in draw(story.loading(done=64), 40)


def test_a_stage_beside_the_current_one_goes_on_too():
    spans = (
        StageSpan(Stage.LOAD_WEIGHTS, story.at(10), "host", None),
        StageSpan(Stage.KV_CACHE, story.at(100), "host", 0.2, None, True),
    )
    explanation = replace(story.EXPLANATION, stages=spans, stage=Stage.KV_CACHE)
    text = draw(replace(story.loading(131), explanation=explanation, progress=None), 60)

    assert "⠇ load-weights    2 min 1 s" in text


def test_an_answer_that_may_still_change_is_not_alarming():
    checks = Checks(log=False, health=503)
    assert "· log  · health" in draw(replace(story.loading(), checks=checks), 60)
    assert "✗ log  ✗ health" in draw(replace(story.stalled(), checks=checks), 60)


@pytest.mark.parametrize("columns", [30, 50, 80, 120])
def test_a_crash_shows_its_cause_at_once(columns):
    text = draw(replace(story.crashed(), is_final=False), columns)

    said = " ".join(text.split())
    assert "torch.OutOfMemoryError: CUDA out of memory. Tried to allocat" in said


def test_the_picture_of_what_is_over_shows_its_times_and_not_those_of_the_look():
    crashed = replace(story.crashed(424.0), elapsed_s=9000.0, stage_elapsed_s=9000.0 - 335.1)
    text = "\n".join(render_panel(crashed, Paper(columns=80), is_closed=True))

    assert "+07:04" in text
    assert "1 min 28 s" in text
