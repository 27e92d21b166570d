import pytest
from inline_snapshot import snapshot

from firedup.core.model import RunLabel, Stage, State, Verdict
from firedup.view.paper import Paper, count_columns
from firedup.view.table import RunRow, record_rows, render_table
from tests.view import story

ROWS = (
    RunRow(
        story.RUN, State.SERVING, Verdict.READY, "sglang", Stage.READY, story.at(0), 7783.0, 30000,
        "/models/Kimi-K2.5-INT4/", "/models/drafter",
    ),
    RunRow(
        RunLabel("20261129-110237-b2", "kimi-drafter"), State.EXITED, Verdict.CRASHED, "sglang",
        Stage.GRAPH_CAPTURE, story.at(-3600), None, 30000, "/models/Kimi-K2.5-INT4", None,
        "cuda-out-of-memory-graph-capture",
    ),
    RunRow(
        RunLabel("20261129-100237-c3", "baseline", "box"), State.STARTING, Verdict.LOADING, "vllm",
        Stage.LOAD_WEIGHTS, story.at(-7200), 61.0, 8000, "/models/Kimi-K2.5-INT4",
    ),
    RunRow(RunLabel("d4", "toy"), State.EXITED, Verdict.STOPPED),
)  # fmt: skip


def test_the_list_of_runs_on_a_hundred_columns():
    assert render_table(ROWS, Paper(columns=100)) == snapshot("""\
name            verdict    stage                  up   port  cause
kimi-drafter    ✓ ready                   2 h 09 min  30000
kimi-drafter~1  ✗ crashed  graph-capture       ended  30000  cuda-out-of-memory-graph-capture
box/baseline    ● loading  load-weights    1 min 1 s   8000
toy             ● stopped                      ended\
""")


def test_the_list_of_runs_on_eighty_columns():
    assert render_table(ROWS, Paper(columns=80)) == snapshot("""\
name            verdict    stage                  up   port  cause
kimi-drafter    ✓ ready                   2 h 09 min  30000
kimi-drafter~1  ✗ crashed  graph-capture       ended  30000  cuda-out-…h-capture
box/baseline    ● loading  load-weights    1 min 1 s   8000
toy             ● stopped                      ended\
""")


def test_no_runs_is_said():
    assert render_table((), Paper()) == "no runs"


def test_runs_that_have_all_ended_are_counted():
    assert render_table((), Paper(), ended=3) == "none lives; --all shows 3 ended"


@pytest.mark.parametrize("columns", [36, 40, 60, 70, 80, 90, 100, 120, 160])
def test_no_row_is_wider_than_the_paper(columns):
    for is_unicode in (True, False):
        paper = Paper(columns=columns, has_colour=True, has_unicode=is_unicode)
        text = render_table(ROWS, paper)
        assert all(count_columns(line) <= columns for line in text.split("\n"))


def test_what_is_cut_for_the_eye_is_whole_in_json():
    record = record_rows(ROWS)["runs"][1]

    assert record["cause"] == "cuda-out-of-memory-graph-capture"
    assert record["started"] == "2026-11-29T11:02:37.000Z"
    assert (record["name"], record["up_s"], record["port"]) == ("kimi-drafter", None, 30000)
