"""The views over snapshots that the pipeline makes of the demo's recordings."""

import json
from datetime import datetime

import pytest

from firedup.core.event import Begun
from firedup.demo.replay import RECORDINGS, events
from firedup.profile.pipeline import Pipeline
from firedup.session.explain import load_matcher
from firedup.view.jsonl import JsonLines
from firedup.view.paper import Paper, count_columns
from firedup.view.plain import Plain


@pytest.fixture(scope="module")
def matcher():
    return load_matcher(())


def snapshots(matcher, name):
    pipeline, shift_ns = Pipeline(matcher, year=2026), 0
    for event in events(name):
        if isinstance(event, Begun):
            shift_ns = event.wall_ns - event.at_ns
        pipeline.feed(event)
        yield pipeline.snapshot(event.at_ns, event.at_ns + shift_ns)


@pytest.mark.parametrize("name", RECORDINGS)
def test_every_view_tells_a_whole_recording(matcher, name):
    plain, lines = Plain(Paper(columns=100)), JsonLines()
    told, events_told = [], []
    for snapshot in snapshots(matcher, name):
        told += plain.feed(snapshot)
        events_told += lines.feed(snapshot)
    told += plain.close(snapshot)
    events_told += lines.close(snapshot)

    records = [json.loads(line) for line in events_told]
    assert records[-1]["event"] == "result"
    assert records[-1]["verdict"] == ("ready" if name == "kimi-start" else "crashed")
    assert any("load-weights" in line for line in told)
    assert not any("\x1b" in line for line in told)
    assert len(told) < 150
    assert all(count_columns(line) < 240 for line in told)


def test_a_stages_beginning_is_wall_time(matcher):
    *_, last = snapshots(matcher, "kimi-start")
    record = json.loads(JsonLines().close(last)[-1])
    begun = next(event for event in events("kimi-start") if isinstance(event, Begun))

    first = datetime.fromisoformat(record["stages"][0]["started"])
    assert record["stages"][0]["clock"] == "host"
    assert 0 <= first.timestamp() - begun.wall_ns / 1e9 < 60
