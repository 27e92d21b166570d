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
name            host   verdict    stage                  up   port  cause
kimi-drafter    local  ✓ ready                   2 h 09 min  30000
kimi-drafter~1  local  ✗ crashed  graph-capture       ended  30000  cuda-out-of-memory-graph-capture
baseline        box    ● loading  load-weights    1 min 1 s   8000
toy             local  ● stopped                      ended\
""")


def test_the_list_of_runs_on_eighty_columns():
    assert render_table(ROWS, Paper(columns=80)) == snapshot("""\
name            host   verdict    stage                  up  cause
kimi-drafter    local  ✓ ready                   2 h 09 min
kimi-drafter~1  local  ✗ crashed  graph-capture       ended  cuda-out…capture
baseline        box    ● loading  load-weights    1 min 1 s
toy             local  ● stopped                      ended\
""")


def test_the_host_has_no_column_where_all_are_on_this_machine():
    rows = [row for row in ROWS if row.run.host == "local"]

    assert render_table(rows, Paper(columns=100)).split()[:3] == ["name", "verdict", "stage"]


def test_runs_of_one_name_are_counted_on_each_host_by_itself():
    twice = [RunRow(RunLabel(f"a{n}", "toy", "box"), State.EXITED, Verdict.STOPPED) for n in "12"]

    lines = render_table([*ROWS, *twice], Paper(columns=100)).split("\n")

    assert [line.split()[:2] for line in lines[-3:]] == [
        ["toy", "local"],
        ["toy", "box"],
        ["toy~1", "box"],
    ]


def test_hosts_that_gave_no_answer_are_named_in_json():
    record = record_rows((), unreached={"lab": "lab: no route\x1b[1m"})

    assert record["unreached"] == [{"host": "lab", "what": "lab: no route"}]


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


def test_what_only_its_log_calls_ready_is_not_called_so():
    claims = RunRow(story.RUN, State.STARTING, Verdict.LOADING, "sglang", Stage.READY)

    assert "● loading  says ready" in render_table([claims], Paper(columns=80))
