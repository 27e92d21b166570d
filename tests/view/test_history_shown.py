"""Earlier starts as a table, and what changed between two."""

from datetime import UTC

from inline_snapshot import snapshot

from firedup.core.difference import Change
from firedup.core.forecast import StageTime
from firedup.core.model import RunLabel, Stage, Verdict
from firedup.view.history import (
    StartRow,
    record_changes,
    record_history,
    render_changes,
    render_history,
)
from firedup.view.paper import Paper
from tests.view.test_record import documented

AT_NS = 1_764_417_600_000_000_000


def start(number, load_s, **facts):
    stages = (StageTime(Stage.ARGS, 0, 4), StageTime(Stage.LOAD_WEIGHTS, 4, load_s))
    known = {
        "engine": "sglang",
        "model": "/models/K2",
        "verdict": Verdict.READY,
        "started_ns": AT_NS + number * 3_600_000_000_000,
        "ready_after_s": load_s + 9,
        "stages": stages,
    }
    return StartRow(RunLabel(f"run-{number}", "k2"), **(known | facts))


GOOD, SLOW = start(1, 313.0), start(2, 420.0, version="0.5.9")
BAD = start(3, 12.0, verdict=Verdict.CRASHED, ready_after_s=None, stage=Stage.LOAD_WEIGHTS)


def test_a_start_is_a_line_and_those_of_a_model_are_summed_up():
    said = render_history([BAD, SLOW, GOOD], Paper(120), zone=UTC)

    assert said == snapshot("""\
started           name  verdict    ready after  slowest stages                     model
2025-11-29 15:00  k2    ✗ crashed               load-weights 12 s, args 4 s        K2
2025-11-29 14:00  k2    ✓ ready    7 min 9 s    load-weights 7 min, args 4 s       K2
2025-11-29 13:00  k2    ✓ ready    5 min 22 s   load-weights 5 min 13 s, args 4 s  K2

K2: 2 of 3 starts came up, after 6 min 16 s in the middle (5 min 22 s–7 min 9 s)\
""")


OOM = start(
    4,
    12.0,
    verdict=Verdict.CRASHED,
    ready_after_s=None,
    cause="cuda-out-of-memory-graph-capture",
)


def test_the_cause_is_the_last_to_go_where_the_paper_is_narrow():
    assert render_history([OOM, GOOD], Paper(80), zone=UTC) == snapshot("""\
started           name  verdict    ready after  cause
2025-11-29 16:00  k2    ✗ crashed               cuda-out-of-memory-graph-capture
2025-11-29 13:00  k2    ✓ ready    5 min 22 s\
""")
    assert render_history([OOM, GOOD], Paper(44), zone=UTC) == snapshot("""\
started      name  verdict    cause
11-29 16:00  k2    ✗ crashed  cuda-ou…apture
11-29 13:00  k2    ✓ ready\
""")


def test_a_word_that_no_model_has_is_said():
    said = render_history([], Paper(80), wanted="K3")

    assert said == "no start is known of a model with K3 in its name"


def test_no_start_is_said_too():
    assert render_history([], Paper(80)) == "no starts are known; firedup run makes them"


def test_what_changed_between_two_starts_stands_above_their_stages():
    lines = render_changes(
        GOOD, BAD, [Change("--tp", "8", "4"), Change("torch", "2.8", "2.9")], Paper(80)
    )

    assert "\n".join(lines) == snapshot("""\
k2 (run-1): ready after 5 min 22 s
k2 (run-3): crashed in load-weights

  --tp 8 → 4
  torch 2.8 → 2.9

  args          4 s → 4 s
  load-weights  5 min 13 s → 12 s\
""")


def test_as_json_a_start_has_its_stages_and_a_secret_is_none_of_the_changes():
    (told,) = record_history([GOOD])["starts"]
    changed = record_changes(GOOD, BAD, [Change("HF_TOKEN", "hf_one", "hf_two")])

    assert set(told) == documented("start")
    assert set(record_history([])) == documented("history")
    assert told["stages"][1] == {"stage": "load-weights", "began_s": 4, "seconds": 313.0}
    assert (told["verdict"], told["ready_after_s"]) == ("ready", 322.0)
    assert "hf_" not in str(changed["changes"])
