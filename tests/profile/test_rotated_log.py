"""Where a rotator cuts a log does not change what the log means."""

from __future__ import annotations

from pathlib import Path

import pytest
from compiled import builtin_matcher
from hypothesis import given, settings
from hypothesis import strategies as st

from firedup.core.event import Ended, LogChanged, LogData
from firedup.core.model import Explanation
from firedup.profile.pipeline import Pipeline

RUNS = Path(__file__).parent.parent / "data" / "engine-runs"
CRASHES = sorted(RUNS.glob("*/f*.log"))
DRAFT = RUNS / "sglang" / "e01_eagle3.log"


def explain(files: list[bytes]) -> Explanation:
    pipeline = Pipeline(builtin_matcher(), year=2026)
    for generation, data in enumerate(files):
        if generation:
            pipeline.feed(LogChanged(0, "rotated", generation))
        pipeline.feed(LogData(0, generation, 0, data))
    pipeline.feed(Ended(0))
    return pipeline.snapshot().explanation


def told(explanation: Explanation) -> tuple[object, ...]:
    cause = explanation.cause
    return (
        explanation.verdict,
        explanation.stage,
        [span.stage for span in explanation.stages],
        (cause.failure, cause.rule, cause.line, cause.rank) if cause else None,
        [(one.line, one.role) for one in explanation.followed],
        [finding.id for finding in explanation.findings],
    )


@settings(max_examples=40)
@given(data=st.data())
def test_a_log_cut_in_two_or_more_files_means_the_same(data: st.DataObject) -> None:
    lines = data.draw(st.sampled_from([*CRASHES, DRAFT])).read_bytes().splitlines(keepends=True)
    cuts = sorted(data.draw(st.sets(st.integers(1, max(1, len(lines) - 1)), max_size=4)))
    files = [
        b"".join(lines[start:stop])
        for start, stop in zip([0, *cuts], [*cuts, len(lines)], strict=True)
    ]

    assert told(explain(files)) == told(explain([b"".join(lines)]))


@pytest.mark.parametrize("cut", [b'  File "/opt/venv', b"    return self."])
def test_a_traceback_that_a_rotator_cut_is_one(cut: bytes) -> None:
    whole = DRAFT.read_bytes()
    at = whole.index(cut, whole.index(b"Traceback"))

    assert told(explain([whole[:at], whole[at:]])) == told(explain([whole]))
