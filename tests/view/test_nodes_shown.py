"""A run on several hosts in every view."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC

import pytest
import story

from firedup.core.model import Followed, RunLabel, Snapshot, Stage, State, Verdict
from firedup.core.node import NodeState
from firedup.view.jsonl import JsonLines
from firedup.view.nodes import find_log_host, say_node, say_nodes
from firedup.view.panel import render_panel
from firedup.view.paper import Paper
from firedup.view.plain import Plain
from firedup.view.statement import render_statement
from firedup.view.table import RunRow, record_row, render_table

PAPER = Paper(columns=100)


def two(snapshot: Snapshot, *others: NodeState) -> Snapshot:
    head = NodeState("box1", "box1", 0, snapshot.explanation.verdict, snapshot.explanation.stage)
    return replace(snapshot, nodes=(head, *others))


def node(verdict: Verdict, stage: Stage | None = None, **more: object) -> NodeState:
    return replace(NodeState("box2", "box2", 1, verdict, stage), **more)  # type: ignore[arg-type]  # fields by name


LOADING = node(Verdict.LOADING, Stage.LOAD_WEIGHTS, fraction=0.41)


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (node(Verdict.LOADING), "waiting"),
        (LOADING, "load-weights 41 %"),
        (node(Verdict.LOADING, Stage.KV_CACHE), "kv-cache"),
        (node(Verdict.READY, Stage.READY), "ready"),
        (node(Verdict.LOADING, Stage.SERVING), "up"),
        (node(Verdict.CRASHED, Stage.KV_CACHE), "crashed in kv-cache"),
        (node(Verdict.STALLED), "stalled"),
        (node(Verdict.LOADING, Stage.KV_CACHE, state=State.UNREACHED), "link down"),
        (node(Verdict.LOST, Stage.KV_CACHE, state=State.UNREACHED), "contact lost"),
    ],
)
def test_a_node_is_said_in_a_few_words(state: NodeState, said: str) -> None:
    assert say_node(state) == said


def test_plain_lines_tell_what_other_nodes_do_and_only_when_it_changes() -> None:
    view = Plain(PAPER, zone=UTC)
    loading = story.loading()

    first = view.feed(two(loading, LOADING))
    again = view.feed(two(loading, replace(LOADING, fraction=0.42)))
    lost = view.feed(two(loading, node(Verdict.LOST, Stage.LOAD_WEIGHTS)))

    assert next(line for line in first if "node box" in line).endswith(
        "node box2: load-weights 41 %"
    )
    assert not [line for line in again if "node box" in line]
    assert [line for line in lost if line.endswith("node box2: contact lost")]


def test_the_panel_has_all_nodes_on_one_line() -> None:
    lines = render_panel(two(story.loading(), LOADING), PAPER)

    assert [line for line in lines if "box2 load-weights 41 %" in line and "box1" in line]


def test_a_run_on_one_host_says_nothing_of_nodes() -> None:
    assert say_nodes(story.loading()) == ""
    assert "nodes" not in json.loads(JsonLines().close(story.ready())[-1])


def test_json_has_an_event_for_a_change_and_all_nodes_at_the_end() -> None:
    measured = replace(LOADING, offset_s=1.5, uncertainty_s=0.0004, log="/logs/2.log")
    view = JsonLines()

    events = [json.loads(line) for line in view.feed(two(story.loading(), measured))]
    result = json.loads(view.close(two(story.ready(), measured))[-1])

    (changed,) = [event for event in events if event["event"] == "node"]
    assert (changed["host"], changed["rank"], changed["progress"]) == ("box2", 1, 0.41)
    assert [entry["host"] for entry in result["nodes"]] == ["box1", "box2"]
    assert result["nodes"][1]["offset_s"] == 1.5
    assert result["nodes"][1]["uncertainty_s"] == 0.0004
    assert result["nodes"][1]["log"] == "/logs/2.log"


def test_the_statement_says_where_the_cause_is_and_what_followed_elsewhere() -> None:
    crashed = story.crashed()
    explanation = replace(
        crashed.explanation,
        followed=(Followed("RuntimeError: connection closed", 9, "victim", 90, "box1"),),
    )
    other = node(Verdict.CRASHED, Stage.LOAD_WEIGHTS, log="/logs/2.log", state=State.EXITED)
    whole = two(replace(crashed, explanation=explanation, log_path="/logs/2.log"), other)
    whole = replace(whole, nodes=(replace(whole.nodes[0], state=State.SERVING), whole.nodes[1]))

    text = render_statement(whole, PAPER)

    assert find_log_host(whole) == "box2"
    assert "box2:/logs/2.log" in text
    assert "box1 line 9" in text
    assert "end the other nodes" in text


def test_the_list_of_runs_says_which_node_a_run_is() -> None:
    label = RunLabel("20261129-120237-k2-n1", "k2", "box2")
    row = RunRow(label, State.STARTING, Verdict.LOADING, node=1, nodes=("box1", "box2"))

    assert "1 of 2" in render_table([row], PAPER)
    assert record_row(row)["nodes"] == ["box1", "box2"]
    assert "nodes" not in record_row(replace(row, nodes=()))
