from dataclasses import replace

import pytest
from inline_snapshot import snapshot

from firedup.core.log.sniff import name_problem
from firedup.core.model import Explanation, Snapshot, Stage, StageSpan, Verdict
from firedup.view.explanation import render_explanation
from firedup.view.paper import Paper, count_columns
from firedup.view.statement import render_statement
from tests.view import story

STALE = "stale log: no process has it open, last written 2 hours ago"


def unknown(*notes, engine=None, stage=None):
    spans = (StageSpan(stage, None, "log", 2.0, None, is_over=True),) if stage else ()
    return Explanation(engine, None, Verdict.UNKNOWN, stage, None, 0.5, stages=spans, notes=notes)


def watched(explanation):
    return Snapshot(
        0, None, explanation, waiting_for="the first stage", log_path="/a/server.log", is_final=True
    )


def state(explanation, columns=80):
    return render_statement(watched(explanation), Paper(columns=columns))


def test_an_abandoned_log_is_stated_with_what_is_known_of_it():
    seen = unknown("12 bytes of the log were destroyed", STALE, engine="vllm", stage=Stage.WARMUP)

    assert state(seen) == snapshot("""\
○ no verdict: stale log: no process has it open, last written 2 hours ago
  vllm
  log file  /a/server.log

notes
  · 12 bytes of the log were destroyed

what to do
  Its server is gone, and its last words tell no end. Read the log itself, or
  name that of a server that lives.\
""")


def test_a_log_of_which_no_line_is_known_is_no_verdict_on_an_engine():
    text = render_explanation(unknown(), Paper(columns=80))

    assert text == snapshot("""\
○ no verdict: no line of it is one that firedup knows

what to do
  If it is the log of a server, name its engine with --engine; firedup profile
  new begins a profile for one that is not known.\
""")


@pytest.mark.parametrize(
    ("head", "way"),
    [
        (b"\x7fELF" + bytes(99), "standard output and error"),
        (b"", "firedup watch LOG"),
        (b"\x1f\x8b\x08\x00", "zcat LOG | firedup explain -"),
        ("text\n".encode("utf-16"), "iconv -f UTF-16"),
    ],
)
def test_what_is_no_log_is_named_with_a_way_out_said_once(head, way):
    note = name_problem(head)
    text = render_explanation(unknown(note), Paper(columns=200))

    assert text.startswith(f"○ no verdict: {note}\n" if "\n" in text else f"○ no verdict: {note}")
    assert text.count(way) == 1
    assert "unknown" not in text
    assert "sure" not in text


def test_the_notes_stand_below_every_verdict_and_only_the_last_ones():
    crashed = story.crashed()
    notes = tuple(f"note {number}" for number in range(5))
    many = replace(crashed, explanation=replace(crashed.explanation, notes=notes))
    text = render_statement(many, Paper(columns=80))

    assert "notes\n  · Lines 90 to 97 are not valid UTF-8." in render_statement(
        crashed, Paper(columns=80)
    )
    assert "note 1" not in text
    assert "  · note 4\n  and 2 more, all of them in the output of --json" in text


@pytest.mark.parametrize("columns", [30, 50, 80, 100])
def test_no_line_is_wider_than_the_paper(columns):
    texts = (state(unknown(STALE), columns), render_explanation(unknown(STALE), Paper(columns)))

    assert all(count_columns(line) <= columns for text in texts for line in text.split("\n"))
