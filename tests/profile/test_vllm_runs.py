"""Real runs of vLLM 0.32 on two CPU cores, against the catalogue and through the pipeline."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import pytest
from compiled import builtin_matcher

from firedup.core.event import Ended, LogData
from firedup.core.log.line import decode_line
from firedup.core.model import Explanation, Line, Severity, Stage, Verdict
from firedup.core.rule import Hit, Role
from firedup.profile.pipeline import Pipeline

RUNS = Path(__file__).parents[1] / "data" / "engine-runs"
EXPECT = [json.loads(line) for line in (RUNS / "vllm/expect.jsonl").read_text().splitlines()]
LOGS = sorted(path.name for path in (RUNS / "vllm").glob("*.log") if "x_split" not in path.name)

# Log → class, stage and a piece of the line that states the cause first.
FAILED: dict[str, tuple[str, str, str]] = {
    row["log"]: (row["class"], row["stage"], row["piece"])
    for row in map(json.loads, (RUNS / "vllm/failed.jsonl").read_text().splitlines())
}
CRASHED = {*FAILED, "f_kill9_worker_ready_keepalive"}
UNHARMED = [name for name in LOGS if name.removesuffix(".log") not in CRASHED]


def explain(data: bytes) -> Explanation:
    pipeline = Pipeline(builtin_matcher(), year=2026)
    pipeline.feed(LogData(at_ns=0, generation=0, offset=0, data=data))
    pipeline.feed(Ended(at_ns=0))
    return pipeline.snapshot().explanation


@cache
def explained(name: str) -> Explanation:
    return explain((RUNS / "vllm" / name).read_bytes())


@cache
def lines_of(name: str) -> tuple[Line, ...]:
    pieces = re.split(rb"\r\n|\r|\n", (RUNS / "vllm" / name).read_bytes())
    return tuple(
        decode_line(piece, offset=index, end=index, number=index + 1, is_progress=False, year=2026)
        for index, piece in enumerate(pieces)
        if piece
    )


@cache
def hits_of(name: str) -> tuple[Hit, ...]:
    return tuple(hit for line in lines_of(name) for hit in builtin_matcher("vllm").match(line))


def of_rule(name: str, rule: str) -> list[Hit]:
    return [hit for hit in hits_of(name) if hit.rule.id == rule]


@pytest.mark.parametrize("row", EXPECT, ids=lambda row: row["log"])
def test_a_recorded_run_gets_a_verdict_that_is_expected(row: dict[str, list[str]]) -> None:
    assert explained(str(row["log"]).removeprefix("vllm/")).verdict.value in row["verdict"]


@pytest.mark.parametrize("name", UNHARMED)
def test_a_run_that_did_not_crash_shows_no_cause(name: str) -> None:
    causes = [
        line.text
        for line in lines_of(name)
        if {hit.rule.role for hit in builtin_matcher("vllm").match(line)} - {None} == {Role.CAUSE}
    ]
    assert causes == []


@pytest.mark.parametrize("name", UNHARMED)
def test_a_run_that_did_not_crash_is_never_called_crashed(name: str) -> None:
    assert explained(name).verdict is not Verdict.CRASHED


@pytest.mark.parametrize("name", ["d_eagle3.log", "a_compile_cold.log", "f_sigterm_ready.log"])
def test_no_beginning_of_a_run_that_came_up_is_called_crashed(name: str) -> None:
    data = (RUNS / "vllm" / name).read_bytes()
    ends = [found.end() for found in re.finditer(rb"\n", data)][::9]
    crashed = [end for end in ends if explain(data[:end]).verdict is Verdict.CRASHED]
    assert crashed == []


@pytest.mark.parametrize("name", FAILED)
def test_an_induced_failure_is_named_by_its_first_fault(name: str) -> None:
    failure, stage, piece = FAILED[name]
    found = explained(f"{name}.log")
    assert found.verdict is Verdict.CRASHED
    assert found.cause is not None
    assert piece in found.cause.line
    assert (found.cause.failure, found.cause.stage) == (failure, stage)
    assert found.cause.meaning


def test_a_worker_that_vanished_while_serving_is_named_when_nothing_else_is() -> None:
    found = explained("f_kill9_worker_ready_keepalive.log")
    assert found.verdict is Verdict.CRASHED
    assert found.cause is not None
    assert found.cause.failure == "worker-died"
    assert "Worker proc VllmWorker-0 died unexpectedly (exit code: None)" in found.cause.line


@pytest.mark.parametrize("name", [name for name in LOGS if name < "e"])
def test_a_run_tells_engine_and_version(name: str) -> None:
    found = explained(name)
    assert (found.engine, found.version) == ("vllm", "0.32.0")


def test_the_bars_of_target_and_drafter_give_done_and_total() -> None:
    bars = [
        (h.captures["done"], h.captures["total"]) for h in of_rule("d_eagle3.log", "weights-bar")
    ]
    assert bars == [("0", "9"), ("9", "9"), ("0", "1"), ("1", "1")]


def test_a_frozen_bar_tells_which_shard_is_damaged() -> None:
    last = of_rule("f_shard_truncated.log", "weights-bar")[-1]
    assert (last.captures["done"], last.captures["total"]) == ("2", "6")


def test_a_start_with_a_drafter_passes_the_stages_in_order() -> None:
    assert [span.stage for span in explained("d_eagle3.log").stages] == [
        Stage.ARGS,
        Stage.DIST_INIT,
        Stage.LOAD_WEIGHTS,
        Stage.DRAFT_LOAD,
        Stage.KV_CACHE,
        Stage.WARMUP,
        Stage.READY,
        Stage.SERVING,
    ]


def test_a_start_with_a_compiler_has_the_compile_stage() -> None:
    stages = [span.stage for span in explained("a_compile_cold.log").stages]
    assert stages.index(Stage.COMPILE) == stages.index(Stage.KV_CACHE) - 1


def test_acceptance_is_read_off_the_log() -> None:
    gauges = {gauge.name: gauge.last for gauge in explained("d_eagle3.log").gauges}
    assert gauges["accept_length"] == 3.06
    assert gauges["generation_tokens_per_s"] == 42.3


def test_a_random_drafter_shows_an_acceptance_length_of_one() -> None:
    gauges = {gauge.name: gauge for gauge in explained("d_eagle3_random.log").gauges}
    assert (gauges["accept_length"].least, gauges["accept_length"].greatest) == (1.0, 1.0)


@pytest.mark.parametrize("name", ["f_drafter_hidden_rep0.log", "f_drafter_hidden_rep4.log"])
def test_a_drafter_of_another_width_is_a_severe_finding_before_it_crashes(name: str) -> None:
    found = {finding.id: finding for finding in explained(name).findings}
    assert found["drafter-hidden-size-differs"].severity is Severity.SEVERE


@pytest.mark.parametrize("name", ["a_base.log", "f_sigint_ready.log", "f_sigterm_ready.log"])
def test_an_orderly_end_is_called_stopped(name: str) -> None:
    assert explained(name).verdict is Verdict.STOPPED


def test_an_interrupt_while_loading_is_called_stopped() -> None:
    assert explained("f_sigint_loading.log").verdict is Verdict.STOPPED


def test_the_unprefixed_stream_alone_shows_the_load_ready_and_the_stop() -> None:
    seen = explained("x_split.stderr.log")

    assert seen.verdict is Verdict.STOPPED
    assert Stage.READY in [span.stage for span in seen.stages]
