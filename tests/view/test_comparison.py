"""What is different since the last good run, shown without secrets."""

from __future__ import annotations

import json

from firedup.core.difference import Change, Comparison
from firedup.core.model import Explanation, Stage, Verdict
from firedup.view.comparison import render_comparison
from firedup.view.explanation import render_explanation
from firedup.view.paper import Paper
from firedup.view.record import record_explanation, render_json

PAPER = Paper(columns=80)
CHANGES = (
    Change("NCCL_ALGO", None, "Tree"),
    Change("--tp", "4", "8"),
    Change("--api-key", "one-secret-7", "another-secret-8"),
)


def crashed(comparison: Comparison | None) -> Explanation:
    return Explanation(
        "sglang", None, Verdict.CRASHED, Stage.ARGS, True, 0.9, since_good=comparison
    )


def test_each_change_has_a_line() -> None:
    text = render_explanation(crashed(Comparison("20261129-1200-r-1", CHANGES)), PAPER)

    assert "the last good run  run 20261129-1200-r-1 came up; since then:" in text
    assert "  NCCL_ALGO unset → Tree\n  --tp 4 → 8\n  --api-key changed" in text


def test_no_secret_is_in_json() -> None:
    record = json.loads(render_json(record_explanation(crashed(Comparison("r", CHANGES)))))

    assert record["since_good"]["changes"][0] == {"name": "NCCL_ALGO", "old": None, "new": "Tree"}
    assert "secret-" not in json.dumps(record)
    assert record_explanation(crashed(None))["since_good"] is None


def test_a_long_list_is_cut_and_counted() -> None:
    many = tuple(Change(f"--flag-{n}", None, "1") for n in range(9))

    lines = render_comparison(Comparison("r", many), PAPER)
    assert "and 4 more" in lines[-1]
    assert len(render_comparison(Comparison("r", many), PAPER, has_all=True)) == 11


def test_the_same_command_points_to_the_host() -> None:
    text = "\n".join(render_comparison(Comparison("r", ()), PAPER))

    assert "the same command and environment" in text
