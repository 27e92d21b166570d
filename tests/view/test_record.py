import ast
import json
import re
from dataclasses import fields, replace
from pathlib import Path

import pytest

import firedup.demo
from firedup.core.model import (
    Evidence,
    Explanation,
    Finding,
    Ownership,
    RunLabel,
    Severity,
    Speculation,
    Stage,
    State,
    Verdict,
)
from firedup.view.jsonl import JsonLines
from firedup.view.record import record_explanation, render_json, scrub
from firedup.view.result import record_result
from firedup.view.table import RunRow, record_rows
from tests.view import story

DOCUMENT = Path(__file__).parents[2] / "docs" / "reference" / "json.md"


def documented(name: str) -> set[str]:
    """The keys in the first column of the table behind a `keys:` mark."""
    text = DOCUMENT.read_text(encoding="utf-8")
    table = text.split(f"<!-- keys: {name} -->\n", 1)[1].split("\n\n", 1)[0]
    return {
        key
        for row in table.splitlines()[2:]
        for key in re.findall(r"`([a-z_0-9]+)`", row.split("|")[1])
    }


def documented_events(section: str) -> dict[str, str]:
    """The kinds of events under a heading, with what is said of their own keys."""
    text = DOCUMENT.read_text(encoding="utf-8").split(f"\n## {section}\n", 1)[1]
    return dict(re.findall(r"<!-- own: ([\w-]+) --> (.*) \|", text.split("\n## ", 1)[0]))


def full_explanation() -> Explanation:
    evidence = (Evidence("line", "killed", 12, 800),)
    explanation = story.crashed().explanation
    return replace(
        explanation,
        cause=replace(story.CAUSE, evidence=evidence),
        findings=(Finding("speculation-off", Severity.SEVERE, "It is off.", evidence),),
    )


def test_every_key_of_an_explanation_is_documented():
    record = record_explanation(full_explanation())

    assert set(record) == documented("explanation")
    assert set(record["stages"][0]) == documented("stage")
    assert set(record["cause"]) == documented("cause")
    assert set(record["cause"]["evidence"][0]) == documented("evidence")
    assert set(record["followed"][0]) == documented("followed")
    assert set(record["findings"][0]) == documented("finding")
    assert set(record["gauges"][0]) == documented("gauge")


def test_every_key_of_a_result_is_documented():
    line = JsonLines().close(story.ready())[-1]
    record = json.loads(line)

    assert set(record) == documented("explanation") | documented("result")
    assert set(record["spec"]) == documented("spec")
    assert set(record["checks"]) == documented("checks")
    assert set(record["acceptance"]) == documented("acceptance")
    assert set(record["run"]) == {"id", "name", "host"}


def test_every_key_of_the_list_of_runs_is_documented():
    row = RunRow(RunLabel("1", "a"), State.SERVING, Verdict.READY)
    record = record_rows([row])

    assert set(record) == documented("ps")
    assert set(record["runs"][0]) == documented("run")


def test_the_demos_own_events_are_documented():
    told: dict[str, set[str]] = {}
    for path in Path(firedup.demo.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "tell":
                keys = {keyword.arg for keyword in node.keywords if keyword.arg}
                told.setdefault(ast.literal_eval(node.args[0]), set()).update(keys)
    said = documented_events("`firedup demo --json`")

    assert set(told) == set(said)
    for kind, keys in told.items():
        assert keys <= set(re.findall(r"`(\w+)`", said[kind])), kind


@pytest.mark.parametrize("words", [Verdict, Stage, State, Severity, Speculation, Ownership])
def test_every_word_of_a_closed_set_is_documented(words):
    named = set(re.findall(r"`([a-z-]+)`", DOCUMENT.read_text(encoding="utf-8")))

    assert {str(word) for word in words} <= named


def test_every_field_of_the_model_reaches_the_record():
    names = {field.name for field in fields(Explanation)}

    assert names <= set(record_explanation(full_explanation()))


def test_the_shape_is_the_one_that_was_promised():
    record = record_explanation(story.crashed().explanation)

    assert list(record)[:14] == [
        *("schema", "engine", "version", "verdict", "stage", "exited", "confidence", "stages"),
        *("starts", "served_s", "cause", "followed", "findings", "notes"),
    ]
    assert record["stages"][0] == {
        "stage": "args",
        "started": "2026-11-29T12:02:37.000Z",
        "clock": "host",
        "seconds": 6.2,
        "rank": None,
    }
    assert record["cause"]["class"] == "cuda-out-of-memory-graph-capture"
    assert record["cause"]["line_number"] == 412


def test_a_healthy_log_has_no_cause():
    assert record_explanation(story.ready().explanation)["cause"] is None


def test_the_path_is_there_when_it_was_asked_for():
    explanation = story.ready().explanation

    assert record_explanation(explanation, path="a.log")["path"] == "a.log"
    assert "path" not in record_explanation(explanation)


def test_an_exit_nobody_saw_is_null():
    assert record_result(story.ready())["exit"] is None
    assert record_result(story.crashed())["exit"] == {"code": None, "signal": 9}


def test_a_key_of_the_command_does_not_get_out():
    text = render_json(record_result(story.ready()))

    assert "rosebud" not in text
    assert '"--api-key", "[redacted]"' in text


def test_json_stays_json_whatever_a_log_holds():
    value = {"a": "\x1b[2J\udcff\u2028é", "b": float("nan"), "c": (1, float("inf"))}

    assert json.loads(render_json(value)) == {"a": "\u2028é", "b": None, "c": [1, None]}
    assert render_json(value).isascii()
    assert scrub(value) == {"a": "\u2028é", "b": None, "c": [1, None]}
