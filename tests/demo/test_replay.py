"""The two invented recordings: in themselves, and as firedup's own pipeline judges them."""

from itertools import pairwise

import pytest
from compiled import builtin_matcher

from firedup.core.event import Exited, Health, LogData, Sample
from firedup.core.model import Speculation, Stage, Verdict
from firedup.demo.kimi import ARGV, SPEC
from firedup.demo.replay import RECORDINGS, events, schedule
from firedup.profile.command import read_command
from firedup.profile.load import load_catalogue
from firedup.profile.pipeline import Pipeline
from firedup.store.event import decode_event, encode_event

NS = 1_000_000_000
each_recording = pytest.mark.parametrize("name", RECORDINGS)


@pytest.fixture(scope="module")
def catalogue():
    return load_catalogue()


@pytest.fixture(scope="module")
def matcher():
    return builtin_matcher()


@each_recording
def test_a_recording_is_the_same_every_time(name):
    assert list(events(name)) == list(events(name))


@each_recording
def test_time_never_goes_back_and_the_log_has_no_gaps(name):
    recorded = list(events(name))
    log = [event for event in recorded if isinstance(event, LogData)]

    times = [event.at_ns for event in recorded]
    assert times == sorted(times)
    assert [e.offset for e in log] == [sum(len(e.data) for e in log[:n]) for n in range(len(log))]


@each_recording
def test_the_log_is_as_long_as_each_sample_says(name):
    size = 0
    for event in events(name):
        match event:
            case LogData():
                size = event.offset + len(event.data)
            case Sample():
                assert event.log_size == size


@each_recording
def test_the_events_survive_the_store(name):
    recorded = list(events(name))

    assert [decode_event(encode_event(event)) for event in recorded] == recorded


def test_the_weights_load_in_313_silent_seconds_of_visible_work():
    log = [event for event in events("kimi-start") if isinstance(event, LogData)]
    full = next(n for n, event in enumerate(log) if b"100% Completed | 64/64" in event.data)
    begin_ns, end_ns = log[full].at_ns, log[full + 1].at_ns
    silent = [
        event
        for event in events("kimi-start")
        if isinstance(event, Sample) and begin_ns <= event.at_ns < end_ns
    ]
    read = [sum(p.read_bytes or 0 for p in sample.processes) for sample in silent]
    busy = [sum(p.cpu_s for p in sample.processes) for sample in silent]

    assert (end_ns - begin_ns) / NS == 313.0
    assert all(after > before for before, after in pairwise(read))
    assert all(after > before + 1 for before, after in pairwise(busy))


def test_eight_ranks_read_the_547_gb_between_them():
    *_, last = (event for event in events("kimi-start") if isinstance(event, Sample))
    ranks = [p for p in last.processes if p.name == "sglang::schedul"]

    assert len(ranks) == 8
    assert 547e9 < sum(p.read_bytes or 0 for p in ranks) < 560e9


def test_the_command_means_what_the_recording_says(catalogue):
    assert read_command(ARGV, {}, catalogue) == SPEC


def test_the_start_passes_its_stages_and_is_ready_and_never_called_crashed(matcher):
    pipeline = Pipeline(matcher, year=2026)
    stages, verdicts = [], []
    for event in events("kimi-start"):
        pipeline.feed(event)
        if isinstance(event, (LogData, Health)):
            explanation = pipeline.snapshot().explanation
            stages.append(explanation.stage)
            verdicts.append(explanation.verdict)

    assert list(dict.fromkeys(stage for stage in stages if stage)) == [
        Stage.ARGS,
        Stage.DIST_INIT,
        Stage.LOAD_WEIGHTS,
        Stage.KV_CACHE,
        Stage.GRAPH_CAPTURE,
        Stage.DRAFT_LOAD,
        Stage.WARMUP,
        Stage.READY,
        Stage.SERVING,
    ]
    assert list(dict.fromkeys(verdicts)) == [Verdict.LOADING, Verdict.READY]
    snapshot = pipeline.snapshot()
    assert snapshot.speculation is Speculation.ON
    assert snapshot.acceptance is not None
    assert snapshot.acceptance.length == 1.5


def test_six_of_eight_ranks_have_loaded_while_two_are_late(matcher):
    pipeline = Pipeline(matcher, year=2026)
    for event in events("kimi-start"):
        if isinstance(event, LogData) and b"Load weight end." in event.data:
            loaded = {r.rank for r in pipeline.snapshot().ranks if r.has_finished}
            if b" TP3]" in event.data:
                break
        pipeline.feed(event)

    assert loaded == {"TP0", "TP1", "TP2", "TP4", "TP6", "TP7"}


def test_the_crash_is_blamed_on_the_full_gpu_and_not_on_who_follows(matcher):
    pipeline = Pipeline(matcher, year=2026)
    for event in events("kimi-crash"):
        pipeline.feed(event)
    explanation = pipeline.snapshot().explanation

    assert isinstance(event, Exited)
    assert (event.code, event.signal) == (None, 9)
    assert explanation.verdict is Verdict.CRASHED
    assert explanation.stage is Stage.GRAPH_CAPTURE
    assert explanation.cause is not None
    assert explanation.cause.line.startswith("torch.OutOfMemoryError: CUDA out of memory.")
    assert any("Received sigquit" in followed.line for followed in explanation.followed)


def test_time_passes_as_fast_as_is_asked():
    due = list(schedule(events("kimi-crash"), speed=10.0))

    first, last = due[0], due[-1]
    assert first.due_s == 0.0
    assert last.due_s == pytest.approx((last.event.at_ns - first.event.at_ns) / NS / 10)


def test_time_does_not_stand_still():
    with pytest.raises(ValueError, match="above 0"):
        list(schedule(events("kimi-crash"), speed=0))
