"""Rows of docs/explanation/loop.md that no other test shows."""

from __future__ import annotations

import pytest

from firedup.core.event import Begun, Event, Exited, LogData, Sample
from firedup.core.log.block import OPENERS
from firedup.core.model import Explanation, Process, ServerSpec, Verdict
from firedup.profile.match import CatalogueMatcher
from firedup.profile.pipeline import Pipeline

NS = 1_000_000_000
LOADING = LogData(0, 0, 0, b"loading the weights\n")


def judge(*events: Event, now_s: int) -> Explanation:
    pipeline = Pipeline(CatalogueMatcher((), OPENERS), year=2026)
    pipeline.feed(Begun(0, 0, ServerSpec(port=8000), pid=7, start_ticks=1, is_launched=True))
    for event in events:
        pipeline.feed(event)
    return pipeline.snapshot(now_s * NS).explanation


def busy(second: int) -> Sample:
    process = Process(7, 1, 1, "server", "R", cpu_s=second * 0.9, rss_bytes=1 << 30)
    return Sample(second * NS, 0, len(LOADING.data), (process,))


@pytest.mark.parametrize(
    ("counted", "failure"), [(True, "host-out-of-memory"), (False, "killed"), (None, "killed")]
)
def test_the_oom_killer_is_named_only_with_its_counter(counted: bool | None, failure: str) -> None:
    told = judge(LOADING, busy(1), Exited(2 * NS, 0, 7, signal=9, oom_killed=counted), now_s=2)

    assert told.verdict is Verdict.CRASHED
    assert told.cause is not None
    assert told.cause.failure == failure
