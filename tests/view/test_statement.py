from dataclasses import replace

import pytest
from inline_snapshot import snapshot

from firedup.core.event import Exited
from firedup.core.model import (
    Acceptance,
    Checks,
    Finding,
    RunLabel,
    Severity,
    Stage,
    State,
    Verdict,
)
from firedup.core.verdict.ending import cause_of_exit
from firedup.view.paper import Paper, count_columns
from firedup.view.statement import render_statement, say_acceptance
from tests.view import story


def say(moment, columns=100, **paper):
    return render_statement(moment, Paper(columns=columns, **paper))


def timed_out():
    late = story.loading(1800.0)
    explanation = replace(late.explanation, verdict=Verdict.TIMED_OUT)
    return replace(late, explanation=explanation, is_final=True)


def test_ready_is_stated_with_its_evidence():
    assert say(story.ready()) == snapshot("""\
✓ ready after 9 min 43 s  kimi-drafter · sglang 0.5.9 · Kimi-K2.5-INT4 + drafter · port 30000
  evidence           log says ready · health answers 200 · port is its own · token generated
  first tokens       “Paris. The city lies on the Seine, and has been the capital since 987.”
  acceptance length  1.73 (rate 0.243, 121 of 498 draft tokens, 166 steps, /metrics)

the server goes on
  firedup attach kimi-drafter  watch it
  firedup stop kimi-drafter    end it\
""")


def test_a_crash_is_stated_with_its_cause():
    assert say(story.crashed()) == snapshot("""\
✗ crashed in graph-capture after 7 min 4 s
  kimi-drafter · sglang 0.5.9 · Kimi-K2.5-INT4 + drafter · port 30000
  process   ended by signal 9 (SIGKILL)
  log file  /home/u/.local/state/firedup/runs/20261129-120237-k2/server.log

cause  cuda-out-of-memory-graph-capture
  The GPU ran out of memory while CUDA graphs were captured.
  │ torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.31 GiB. GPU 7 has a total
  │ capacity of 139.80 GiB of which 1.02 GiB is free. Including non-PyTorch memory, this process has
  │ 138.77 GiB memory in use.
  line 412 · TP7 · in graph-capture · rule sglang/cuda-out-of-memory

what to do
  Lower --mem-fraction-static (0.90 was used), or capture fewer graphs with --cuda-graph-max-bs.

what followed
  line 436   wrapper  Capture cuda graph failed: CUDA out of memory. × 3
  line 460   wrapper  Received sigquit from a child process.
  line 463   teardown Killed

findings
  · port-was-free: Port 30000 was free before the launch.

notes
  · Lines 90 to 97 are not valid UTF-8.

next
  firedup logs kimi-drafter     read the log
  firedup restart kimi-drafter  start it again\
""")


def test_a_time_out_says_what_was_seen():
    assert say(timed_out()) == snapshot("""\
✗ timed out in load-weights after 30 min
  kimi-drafter · sglang 0.5.9 · Kimi-K2.5-INT4 + drafter · port 30000
  stage      load-weights for 29 min 44 s
  progress   23/64 shards 36 %
  ranks      6 of 8 ranks have loaded; TP3, TP5 not
  waits for  the weights of TP3 and TP5
  processes  pid 4200 and 8 more · 61.1 GB memory
  last line  Loading safetensors checkpoint shards: 36% Completed | 23/64
  log file   /home/u/.local/state/firedup/runs/20261129-120237-k2/server.log

the server goes on
  firedup attach kimi-drafter  watch it
  firedup stop kimi-drafter    end it\
""")


def test_who_said_ready_and_never_was_did_not_serve():
    seen = story.stalled()
    explanation = replace(seen.explanation, stage=Stage.READY, served_s=None)
    lines = say(replace(seen, explanation=explanation, is_refuted=True)).split("\n")

    assert lines[0].startswith("✗ stalled before it was ready after ")
    assert any(line.startswith("  stage      not yet proved ready for ") for line in lines)
    assert not any("serv" in line.split("  ")[0] for line in lines[:8])


def test_a_stall_promises_no_remaining_time():
    assert say(story.stalled(), 40) == snapshot("""\
✗ stalled in graph-capture after 15 min
  kimi-drafter · sglang 0.5.9 ·
  Kimi-K2.5-INT4 + drafter · port 30000
  stage: graph-capture for 9 min 25 s
  progress: 17/36 batches 47 %
  waits for: any sign of work
  log: quiet for 8 min 10 s
  processes: pid 4200 and 8 more · 61.1
    GB memory
  last line: Capturing batches (bs=112
    avail_mem=4.39 GB): 47%|####7 |
    17/36
  log file:
    /home/u/.local/state/firedup/runs/20261129-120237-k2/server.log

findings
  ✗ odd-rank-out: TP3 waits in another
    place than the other seven ranks.
    command: TP3: ncclCommInitRank
      (communicator.py:214)
    sample: no process used CPU or read
      a byte for 8 min 10 s
    → Stop it, and start it again with
      NCCL_DEBUG=INFO.

the server goes on
  firedup attach kimi-drafter
  firedup stop kimi-drafter\
""")


def test_an_interrupted_watch_says_how_to_go_on():
    assert "firedup attach kimi-drafter" in say(story.loading())


def test_what_outlived_its_server_can_be_ended():
    dead = story.crashed(424)
    finding = Finding("left-behind", Severity.SEVERE, "2 processes lived on.")
    dead = replace(dead, explanation=replace(dead.explanation, findings=(finding,)))

    assert "firedup stop kimi-drafter     end what is left of it" in say(dead)


def test_a_server_of_somebody_else_gets_no_advice_about_runs():
    assert "firedup" not in say(replace(story.ready(), run=None)).replace("/firedup/", "")


def test_an_exit_is_told_by_its_linux_name():
    seen = replace(story.crashed(), exit_signal=7)
    odd = replace(story.crashed(), exit_signal=None, exit_code=3)
    unseen = replace(story.crashed(), exit_signal=None)

    assert "ended by signal 7 (SIGBUS)" in say(seen)
    assert "ended with exit status 3" in say(odd)
    assert "nobody saw its exit status" in say(unseen)


def test_a_crash_whose_process_lingers_says_so():
    explanation = replace(story.crashed().explanation, exited=False)
    lingering = replace(story.crashed(), explanation=explanation, state=State.STARTING)

    assert "has not ended yet" in say(lingering)


def test_a_check_that_was_not_made_says_why():
    checks = Checks(log=True, health=200, why_not="an embedding server generates no token")

    assert "an embedding server generates no token" in say(
        replace(story.ready(), checks=checks), 200
    )


@pytest.mark.parametrize(
    ("acceptance", "text"),
    [
        (Acceptance(1.0, 0.0, 0, 12, 4), "1.00 (rate 0, 0 of 12 draft tokens, 4 steps)"),
        (Acceptance(None, None, why_not="no counters"), "no counters"),
        (Acceptance(2.65, None, source="/metrics"), "2.65 (/metrics)"),
    ],
)
def test_acceptance_is_told_with_what_it_was_counted_from(acceptance, text):
    assert say_acceptance(acceptance) == text


@pytest.mark.parametrize("columns", [30, 50, 80, 120])
def test_the_path_of_the_log_can_be_copied(columns):
    path = "/data/runs of today/" + "very-long-name/" * 8 + "server.log"

    lines = say(replace(story.crashed(), log_path=path), columns).split("\n")
    assert f"    {path}" in lines


@pytest.mark.parametrize("columns", [40, 60, 80, 120])
@pytest.mark.parametrize(
    "make", [story.ready, story.crashed, story.stalled, story.loading, timed_out]
)
def test_no_statement_is_wider_than_the_paper(columns, make):
    for is_unicode in (True, False):
        text = say(make(), columns, has_colour=True, has_unicode=is_unicode)
        lines = [line for line in text.split("\n") if "server.log" not in line]
        assert all(count_columns(line) <= columns for line in lines)
        assert is_unicode or text.isascii()


def test_a_later_look_changes_nothing_about_when_it_was_ready_or_ended():
    ready = replace(story.ready(583.0), elapsed_s=825.0)
    crashed = replace(story.crashed(424.0), elapsed_s=9000.0)

    assert say(ready).startswith("✓ ready after 9 min 43 s  kimi-drafter")
    assert say(crashed).startswith("✗ crashed in graph-capture after 7 min 4 s")


def test_a_server_that_was_up_before_is_ready_and_no_more_is_said():
    assert say(replace(story.ready(), ready_after_s=None)).startswith("✓ ready  kimi-drafter")


@pytest.mark.parametrize(
    ("name", "typed"),
    [
        ("my srv", "'my srv'"),
        ("it's; rm -rf ~", "'it'\"'\"'s; rm -rf ~'"),
        ("two\nlines", "20261129-1"),
        ("--help", "20261129-1"),
        ("bell\x07", "20261129-1"),
    ],
)
def test_a_hint_can_be_typed_as_it_stands(name, typed):
    text = say(replace(story.crashed(), run=RunLabel("20261129-1", name)))

    assert f"  firedup logs {typed}  " in text
    assert f"  firedup restart {typed}  " in text


LAST_WORDS = "ImportError: libcudart.so.12: cannot open shared object file: No such file"


def died_silently():
    exited = Exited(0, 0, 7, code=1)
    last_line = story.line(LAST_WORDS, 5)
    cause = cause_of_exit(exited, Stage.ARGS, was_ready=False, last_line=last_line)
    explanation = replace(
        story.crashed().explanation, cause=cause, followed=(), findings=(), notes=()
    )
    return replace(story.crashed(), explanation=explanation)


def test_the_last_words_of_a_silent_death_are_quoted():
    assert f"  last words │ {LAST_WORDS}\n" in say(died_silently())
    assert "  last words\n  │ ImportError: libcudart.so.12: cannot open\n  │ shared object" in say(
        died_silently(), 50
    )
