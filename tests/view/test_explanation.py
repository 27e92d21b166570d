from dataclasses import replace
from datetime import UTC

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from firedup.core.model import (
    Evidence,
    Explanation,
    Finding,
    Followed,
    Gauge,
    Severity,
    Stage,
    StageSpan,
    Verdict,
)
from firedup.view.cause import render_findings
from firedup.view.explanation import render_explanation
from firedup.view.paper import Paper, count_columns
from tests.view import story


def say(explanation, columns=80, **paper):
    return render_explanation(explanation, Paper(columns=columns, **paper), zone=UTC)


def test_a_crash_is_explained_from_verdict_to_remedy():
    assert say(story.crashed().explanation) == snapshot("""\
✗ crashed in graph-capture  sglang 0.5.9

stages
  args                6.2 s  from 12:02:37
  dist-init           9.4 s  from 12:02:43
  load-weights   5 min 13 s  from 12:02:52
    8 ranks: TP6 5 min 1 s to TP5 5 min 13 s
  draft-load          4.1 s  from 12:08:05
  kv-cache            2.2 s  from 12:08:09
  graph-capture           –  from 12:08:12  ← here

cause  cuda-out-of-memory-graph-capture
  The GPU ran out of memory while CUDA graphs were captured.
  │ torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.31 GiB. GPU
  │ 7 has a total capacity of 139.80 GiB of which 1.02 GiB is free. Including
  │ non-PyTorch memory, this process has 138.77 GiB memory in use.
  line 412 · TP7 · in graph-capture · rule sglang/cuda-out-of-memory

what to do
  Lower --mem-fraction-static (0.90 was used), or capture fewer graphs with
  --cuda-graph-max-bs.

what followed
  line 436   wrapper  Capture cuda graph failed: CUDA out of memory. × 3
  line 460   wrapper  Received sigquit from a child process.
  line 463   teardown Killed

findings
  · port-was-free: Port 30000 was free before the launch.

gauges in the log
                      last  mean   min   max           count
  acceptance length   1.73  1.71  1.20  2.40             118
  generated tokens/s  60.2  59.1  12.0  64.9  11,800 sampled

notes
  · Lines 90 to 97 are not valid UTF-8.\
""")


def test_an_explanation_fits_forty_columns_of_ascii():
    text = say(story.crashed().explanation, 40, has_unicode=False)

    assert text == snapshot("""\
x crashed in graph-capture  sglang 0.5.9

stages
  args                6.2 s
  dist-init           9.4 s
  load-weights   5 min 13 s
    8 ranks: TP6 5 min 1 s to TP5 5 min
    13 s
  draft-load          4.1 s
  kv-cache            2.2 s
  graph-capture           -  < here

cause  cuda-out-of-memory-graph-capture
  The GPU ran out of memory while CUDA
  graphs were captured.
  | torch.OutOfMemoryError: CUDA out of
  | memory. Tried to allocate 1.31 GiB.
  | GPU 7 has a total capacity of 139.80
  | GiB of which 1.02 GiB is free.
  | Including non-PyTorch memory, this
  | process has 138.77 GiB memory in
  | use.
  line 412 - TP7 - in graph-capture -
  rule sglang/cuda-out-of-memory

what to do
  Lower --mem-fraction-static (0.90 was
  used), or capture fewer graphs with
  --cuda-graph-max-bs.

what followed
  line 436 wrapper x 3
    Capture cuda graph faile...f memory.
  line 460 wrapper
    Received sigquit from a ... process.
  line 463   teardown Killed

findings
  - port-was-free: Port 30000 was free
    before the launch.

gauges in the log
  acceptance length: mean 1.71, last
  1.73, 1.20 to 2.40, 118 values
  generated tokens/s: mean 59.1, last
  60.2, 12.0 to 64.9, 11,800 sampled
  values

notes
  - Lines 90 to 97 are not valid UTF-8.\
""")


def test_a_stall_shows_its_findings_with_their_evidence():
    explanation = replace(story.stalled().explanation, stages=())

    assert say(explanation) == snapshot("""\
✗ stalled in graph-capture  sglang 0.5.9

findings
  ✗ odd-rank-out: TP3 waits in another place than the other seven ranks.
    command: TP3: ncclCommInitRank (communicator.py:214)
    sample: no process used CPU or read a byte for 8 min 10 s
    → Stop it, and start it again with NCCL_DEBUG=INFO.\
""")


def test_what_is_said_of_a_file_is_whole_and_of_many_files_some_are_told():
    files = [Evidence("file", f"/models/k2/model-{n:05}.safetensors: 436 bytes, but its header"
                              " needs at least 473") for n in range(1, 9)]  # fmt: skip
    finding = Finding("model-damaged", Severity.SEVERE, "8 files are damaged.", tuple(files))

    lines = render_findings((finding,), Paper(columns=72))
    assert lines[1:3] == [
        "    file: /models/k2/model-00001.safetensors: 436 bytes, but its header",
        "      needs at least 473",
    ]
    assert len(lines) == 14
    assert lines[-1] == "    and 2 more, with --json all of them"


def test_a_healthy_log_is_told_in_few_words():
    assert say(story.ready().explanation) == snapshot("""\
✓ ready  sglang 0.5.9

stages
  args                6.2 s  from 12:02:37
  dist-init           9.4 s  from 12:02:43
  load-weights   5 min 13 s  from 12:02:52
    8 ranks: TP6 5 min 1 s to TP5 5 min 13 s
  draft-load          4.1 s  from 12:08:05
  kv-cache            2.2 s  from 12:08:09
  graph-capture   4 min 4 s  from 12:08:12
  warmup              3.4 s  from 12:12:16\
""")


def test_an_empty_log_says_that_nothing_is_known():
    assert say(Explanation(None, None, Verdict.UNKNOWN, None, None, 0.0)) == snapshot(
        """\
○ no verdict: no line of it is one that firedup knows

what to do
  If it is the log of a server, name its engine with --engine; firedup profile
  new begins a profile for one that is not known.\
"""
    )


def test_a_server_that_died_while_serving_says_how_long_it_served():
    explanation = Explanation(
        "vllm", "0.32.0", Verdict.CRASHED, Stage.SERVING, True, 0.6, served_s=10_920, starts=3
    )

    assert say(explanation, 100) == snapshot(
        "✗ crashed while serving  vllm 0.32.0 · served 3 h 02 min · start 3 in this log · 60 % sure"
    )


def test_equal_lines_that_followed_are_counted_once():
    lines = tuple(
        Followed(f"[2026-11-29 12:00:0{n} TP{n}] rank {n} died", n, "victim") for n in range(8)
    )
    other = tuple(Followed(f"{word} broke", 20, "victim") for word in "abcdefg")

    text = say(replace(story.crashed().explanation, followed=lines + other))

    assert "rank 0 died × 8" in text
    assert "rank 1 died" not in text
    assert "d broke" in text
    assert "e broke" not in text
    assert "and 3 more" in text


def test_what_only_repeats_the_cause_did_not_follow_from_it():
    cause = replace(story.CAUSE, line="[2026-11-29 12:00:00 TP0] IndexError: index 7 is too large")
    again = Followed("[2026-11-29 12:00:01 TP1] IndexError: index 8 is too large", 30, "cause")
    other = Followed("Engine died", 31, "wrapper")
    explanation = replace(story.crashed().explanation, cause=cause, followed=(again, other))

    text = say(explanation)
    assert "what followed\n  line 31    wrapper  Engine died\n" in text


def test_an_orderly_end_makes_room_for_what_tells_more():
    ends = tuple(Followed(f"step {word}", n, "teardown") for n, word in enumerate("abcdef"))
    wrapper = Followed("Engine died", 31, "wrapper")
    explanation = replace(story.crashed().explanation, followed=(*ends, wrapper))

    text = say(explanation)
    assert "step d\n  line 31    wrapper  Engine died\n  and 2 more" in text


def finding(name, severity):
    return Finding(
        name, severity, f"About {name}.", (Evidence("line", f"seen {name}", 3),), f"Mend {name}."
    )


def test_notes_are_few_and_say_no_more_than_they_must():
    notes = tuple(finding(f"note-{n}", Severity.NOTE) for n in range(6))
    grave = (finding("bad", Severity.WARNING), finding("worse", Severity.SEVERE))

    text = say(replace(story.ready().explanation, findings=(*notes, *grave)))
    assert text.split("findings\n")[1] == snapshot("""\
  ✗ worse: About worse.
    line 3: seen worse
    → Mend worse.
  ! bad: About bad.
    line 3: seen bad
    → Mend bad.
  · note-0: About note-0.
    → Mend note-0.
  and 5 more, all of them in the output of --json\
""")


def test_notes_are_faint():
    notes = (finding("note", Severity.NOTE),)

    text = say(replace(story.ready().explanation, findings=notes), has_colour=True)
    assert "\x1b[2m  · note: About note.\x1b[0m" in text


def test_requests_are_counted_in_whole_numbers():
    gauges = (Gauge("running", 1, 1.5, 0, 1200, 9),)

    text = say(replace(story.ready().explanation, gauges=gauges))
    assert "  running requests     1  1.50    0  1,200      9" in text


def test_the_rank_that_took_longest_is_named():
    spans = tuple(
        StageSpan(Stage.LOAD_WEIGHTS, None, "log", 10.0 + n, f"TP{n}", True) for n in range(3)
    )

    text = say(replace(story.ready().explanation, stages=spans))

    assert "load-weights  12 s  3 ranks: TP0 10 s to TP2 12 s" in text


def test_a_secret_in_a_log_is_not_shown():
    cause = replace(story.CAUSE, line="ValueError: bad --api-key rosebud1941 \x1b[2J", rank="TP0")

    text = say(replace(story.crashed().explanation, cause=cause))

    assert "ValueError: bad --api-key [redacted]" in text
    assert "\x1b" not in text


@pytest.mark.parametrize("columns", [40, 60, 80, 100, 200])
@pytest.mark.parametrize("is_unicode", [True, False])
@pytest.mark.parametrize("make", [story.ready, story.crashed, story.stalled, story.loading])
def test_no_line_is_wider_than_the_paper(columns, is_unicode, make):
    text = say(make().explanation, columns, has_unicode=is_unicode, has_colour=True)

    assert all(count_columns(line) <= columns for line in text.splitlines())
    assert is_unicode or text.isascii()


@given(st.text(), st.sampled_from([40, 80]))
def test_any_line_can_be_the_cause(line, columns):
    cause = replace(story.CAUSE, line=line, meaning=line, remedy=line)

    text = say(replace(story.crashed().explanation, cause=cause), columns)

    assert "\x1b" not in text
    assert "/" in line or all(count_columns(row) <= columns for row in text.split("\n"))


@pytest.mark.parametrize("columns", [20, 30, 40, 50, 80, 100])
@given(words=st.lists(st.text("abc:.'", min_size=1, max_size=9), min_size=9, max_size=80))
def test_the_beginning_of_the_cause_is_never_lost(columns, words):
    message = " ".join(["RuntimeError:", *words])
    cause = replace(story.CAUSE, line=f"[2026-11-29 12:09:41 TP7] {message}")

    rows = say(replace(story.crashed().explanation, cause=cause), columns).split("\n")
    quoted = "".join(row[4:] for row in rows if row.startswith("  │ "))
    assert quoted.replace(" ", "").startswith(message[:60].replace(" ", ""))


def test_the_path_of_a_log_is_shown_whole():
    path = "/srv/" + "logs-of-a-month/" * 9 + "server.log"

    assert render_explanation(story.EXPLANATION, Paper(columns=40), path=path).startswith(path)


@pytest.mark.parametrize(
    "line",
    [
        "[2026-11-29 12:09:41 TP7] it broke",
        "[2026-11-29 12:09:41] it broke",
        "(EngineCore pid=14451) ERROR 11-29 17:09:29 [core.py:634] it broke",
        "ERROR 11-29 17:09:29 [core.py:634] it broke",
        "(EngineCore pid=14451) it broke",
        "(Worker_TP1 pid=7) ERROR 11-29 17:09:29 [core.py:634] [rank1]: it broke",
        "0.00.021.016 I srv    load_model: it broke",
        "12.00.021.016 E slot get_availabl: it broke",
        "0.00.043.750 I srv    operator(): it broke",
        "0.00.043.750 E it broke",
        "it broke",
    ],
)
def test_a_quoted_line_is_shown_without_its_prefix(line):
    cause = replace(story.CAUSE, line=line)

    assert "\n  │ it broke\n" in say(replace(story.crashed().explanation, cause=cause))


def test_the_advice_that_torch_always_gives_makes_room_for_the_facts():
    line = (
        "torch.OutOfMemoryError: CUDA out of memory. Process 7 has 14.02 GiB memory in use."
        " If reserved but unallocated memory is large try setting X=Y to avoid fragmentation. "
    )

    text = say(replace(story.crashed().explanation, cause=replace(story.CAUSE, line=line)))
    assert "Process 7 has" in text
    assert "fragmentation" not in text


def test_brackets_that_belong_to_a_message_stay():
    cause = replace(story.CAUSE, line="[Errno 98] address already in use")

    assert "│ [Errno 98] address" in say(replace(story.crashed().explanation, cause=cause))


def test_serving_is_a_stage_only_when_it_went_wrong_there():
    spans = (
        StageSpan(Stage.WARMUP, story.at(0), "log", 2.0, None, True),
        StageSpan(Stage.READY, story.at(2), "log", 5.0, None, True),
        StageSpan(Stage.SERVING, story.at(7), "log", None),
    )
    explanation = replace(story.ready().explanation, stages=spans, stage=Stage.SERVING)
    broken = replace(explanation, verdict=Verdict.CRASHED)

    assert "serving" not in say(explanation)
    assert "  ready        at 12:02:39\n" in say(explanation) + "\n"
    assert "  serving    –  from 12:02:44  ← here" in say(broken)


def test_acceptance_comes_first_among_the_gauges():
    gauges = (
        *(Gauge(name, 1, 1, 1, 1, 1) for name in ("waiting", "novel_thing", "accept_length")),
    )
    text = say(replace(story.ready().explanation, gauges=gauges))

    places = [text.index(name) for name in ("acceptance", "waiting requests", "novel thing")]
    assert places == sorted(places)


def test_the_engines_own_word_is_no_proof():
    explanation = replace(story.EXPLANATION, stage=Stage.READY)

    assert say(explanation) == "● not yet proved ready  sglang 0.5.9"


def test_lines_beside_a_cause_lose_the_prefix_that_it_has_and_no_other():
    head = "(VllmWorker rank=1 pid=52940) ERROR 04-14 14:24:52 [multiproc_executor.py:383] "
    cause = replace(
        story.crashed().explanation.cause,
        line=f"{head}torch.OutOfMemoryError: CUDA out of memory.",
        before=(f"{head}    logits.sort()", "(EngineCore pid=7) INFO 04-14 14:24:53 [core.py:1] b"),
        after=(),
    )
    text = say(replace(story.crashed().explanation, cause=cause), columns=120)

    assert "│     logits.sort()\n" in text
    assert "│ (EngineCore pid=7) INFO 04-14 14:24:53 [core.py:1] b\n" in text
    assert "▸ torch.OutOfMemoryError: CUDA out of memory.\n" in text


def test_the_stage_of_the_cause_is_marked_where_a_later_one_had_begun():
    spans = (
        StageSpan(Stage.LOAD_WEIGHTS, None, "log", 3.0, is_over=True),
        StageSpan(Stage.DRAFT_LOAD, None, "log", 1.0),
    )
    seen = replace(story.crashed().explanation, stages=spans, stage=Stage.LOAD_WEIGHTS)

    (marked,) = [line for line in say(seen).splitlines() if "← here" in line]
    assert "load-weights" in marked
