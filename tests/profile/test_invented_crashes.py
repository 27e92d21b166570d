"""Whole logs in the manner of SGLang and vLLM, of failures that no recorded run holds."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from compiled import builtin_matcher

from firedup.core.event import Ended, LogData
from firedup.core.model import Explanation, Verdict
from firedup.profile.pipeline import Pipeline

FOLDER = Path(__file__).parent / "crashes"
EXPECT = [json.loads(line) for line in (FOLDER / "expect.jsonl").read_text().splitlines()]


def explain(data: bytes) -> Explanation:
    pipeline = Pipeline(builtin_matcher(), year=2026)
    pipeline.feed(LogData(at_ns=0, generation=0, offset=0, data=data))
    pipeline.feed(Ended(at_ns=0))
    return pipeline.snapshot().explanation


def log_of(row: dict[str, str]) -> bytes:
    return (FOLDER / f"{row['log']}.log").read_bytes()


def test_every_log_has_its_expectation() -> None:
    assert {path.stem for path in FOLDER.glob("*.log")} == {row["log"] for row in EXPECT}


@pytest.mark.parametrize("row", EXPECT, ids=lambda row: row["log"])
def test_the_cause_is_found_among_wrappers_and_victims(row: dict[str, str]) -> None:
    explanation = explain(log_of(row))

    assert explanation.verdict is Verdict.CRASHED
    assert explanation.cause is not None
    # Some classes are told apart by stage.
    assert explanation.cause.failure in (row["class"], f"{row['class']}-{explanation.cause.stage}")
    assert row["piece"] in explanation.cause.line
    assert row["rank"] in (None, explanation.cause.rank)


@pytest.mark.parametrize("row", EXPECT, ids=lambda row: row["log"])
def test_what_stands_before_the_failure_is_no_crash(row: dict[str, str]) -> None:
    data = log_of(row)
    # A wrapper may announce the cause in the line that opens its traceback, or just before it.
    first = re.search(
        b"Traceback|Error executing|failed to start|" + re.escape(row["piece"].encode()), data
    )
    assert first is not None

    verdict = explain(data[: data.rfind(b"\n", 0, first.start()) + 1]).verdict

    assert verdict is not Verdict.CRASHED
