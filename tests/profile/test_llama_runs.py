"""Real runs of llama.cpp's server (b10434, b11434, b11549) through the catalogue and pipeline."""

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
from firedup.core.rule import Role
from firedup.profile.pipeline import Pipeline

RUNS = Path(__file__).parents[1] / "data" / "engine-runs"
EXPECT = [json.loads(line) for line in (RUNS / "llama-cpp/expect.jsonl").read_text().splitlines()]
LOGS = sorted(path.name for path in (RUNS / "llama-cpp").glob("*.log"))
CAME_UP = [
    *("bench-final-base.log", "bench-final-e2n3.log", "bench-final-reagle.log", "lcb-eagle.log"),
    *("lcb-jsonl.log", "lcb-synth.log"),
    *(name for name in LOGS if "draft-other-vocab" in name or "with-plain-draft" in name),
    *(name for name in LOGS if "after-ready" in name and name != "real-sigkill-after-ready.log"),
]
STILL_LOADING = [
    *(name for name in LOGS if "noulimit" in name),
    *("skulk-q8.log", "real-sigkill-after-ready.log"),
]
FAILED = [name for name in LOGS if name not in (*CAME_UP, *STILL_LOADING)]

# What was induced, as the second part of a log's name tells → the class of its cause.
CLASSES = {
    "bad-value": "bad-argument",
    "ctx-too-big-ulimit-v": "host-out-of-memory",
    "hidden": "engine-assertion",
    "layers-launchx": "engine-assertion",
    "layers-llama-server": "engine-assertion",
    "missing-draft": "model-not-found",
    "missing-model": "model-not-found",
    "nobt": "engine-assertion",
    "not-gguf": "checkpoint-corrupt",
    "port-in-use": "port-in-use",
    "removed-flag": "bad-argument",
    "truncated-half": "checkpoint-incomplete",
    "truncated-header": "checkpoint-corrupt",
    "unknown-flag": "bad-argument",
}


def explain(data: bytes) -> Explanation:
    pipeline = Pipeline(builtin_matcher(), year=2026)
    pipeline.feed(LogData(at_ns=0, generation=0, offset=0, data=data))
    pipeline.feed(Ended(at_ns=0))
    return pipeline.snapshot().explanation


def data_of(name: str) -> bytes:
    return (RUNS / "llama-cpp" / name).read_bytes()


@cache
def explained(name: str) -> Explanation:
    return explain(data_of(name))


def lines_of(name: str) -> list[Line]:
    pieces = re.split(rb"\r\n|\r|\n", data_of(name))
    return [
        decode_line(piece, offset=at, end=at, number=at + 1, is_progress=False, year=2026)
        for at, piece in enumerate(pieces)
        if piece
    ]


@pytest.mark.parametrize("row", EXPECT, ids=lambda row: row["log"])
def test_a_recorded_run_gets_the_expected_verdict_and_root_line(row: dict[str, str]) -> None:
    found = explained(row["log"].removeprefix("llama-cpp/"))
    assert found.verdict.value in row["verdict"]
    if row["root_line"]:
        assert found.cause is not None
        assert found.cause.line == row["root_line"]


@pytest.mark.parametrize("name", CAME_UP)
def test_a_server_that_came_up_is_ready_or_stopped(name: str) -> None:
    found = explained(name)
    assert found.verdict in (Verdict.READY, Verdict.STOPPED)
    assert (found.engine, found.starts) == ("llama-cpp", 1)
    assert Stage.READY in [span.stage for span in found.stages]


@pytest.mark.parametrize("name", STILL_LOADING)
def test_a_log_that_stops_without_a_word_is_still_loading(name: str) -> None:
    assert explained(name).verdict is Verdict.LOADING


@pytest.mark.parametrize("name", [*CAME_UP, *STILL_LOADING])
def test_a_run_without_a_fault_shows_no_cause(name: str) -> None:
    causes = [
        line.text
        for line in lines_of(name)
        if {hit.rule.role for hit in builtin_matcher("llama-cpp").match(line)} - {None}
        == {Role.CAUSE}
    ]
    assert causes == []


@pytest.mark.parametrize("name", CAME_UP)
def test_no_beginning_of_a_run_that_came_up_is_called_crashed(name: str) -> None:
    data = data_of(name)
    ends = [found.end() for found in re.finditer(rb"\n", data)][:60]
    assert [end for end in ends if explain(data[:end]).verdict is Verdict.CRASHED] == []


@pytest.mark.parametrize("name", [name for name in FAILED if name != "xll-bad-value.log"])
def test_an_induced_failure_gets_its_class_and_a_remedy(name: str) -> None:
    kind = name.removesuffix(".log").split("-", 1)[1]
    found = explained(name)
    assert found.verdict is Verdict.CRASHED
    assert found.cause is not None
    assert found.cause.failure == CLASSES[kind]
    assert found.cause.remedy


def test_an_exception_of_the_launcher_needs_no_rule() -> None:
    found = explained("xll-bad-value.log")
    assert found.cause is not None
    assert found.cause.line.startswith("AttributeError: COMMON_SPECULATIVE_TYPE_DRAFT_BOGUS")


@pytest.mark.parametrize(
    "name", [name for name in CAME_UP if "other-vocab" in name or "plain-draft" in name]
)
def test_a_server_that_serves_without_its_drafter_says_so_severely(name: str) -> None:
    (finding,) = explained(name).findings
    assert (finding.id, finding.severity) == ("speculation-off", Severity.SEVERE)


def test_made_up_acceptance_is_a_severe_finding() -> None:
    (finding,) = explained("lcb-synth.log").findings
    assert (finding.id, finding.severity) == ("synthetic-acceptance", Severity.SEVERE)


def test_an_eagle3_start_prints_a_harmless_error_line_that_is_not_taken_for_one() -> None:
    assert b" E llama_init_from_model: failed to initialize" in data_of("lcb-eagle.log")
    assert explained("lcb-eagle.log").cause is None


@pytest.mark.parametrize(
    ("name", "last_length", "last_rate"),
    [
        ("bench-final-e2n3.log", 1.32, 0.10798),
        ("bench-final-reagle.log", 1.0, 0.0),
        ("lcb-synth.log", 2.43, 0.47771),
    ],
)
def test_acceptance_is_read_off_the_log(name: str, last_length: float, last_rate: float) -> None:
    gauges = {gauge.name: gauge.last for gauge in explained(name).gauges}
    assert (gauges["accept_length"], gauges["accept_rate"]) == (last_length, last_rate)


def test_tokens_per_second_leave_the_prompt_out() -> None:
    gauges = {gauge.name: gauge for gauge in explained("lcb-synth.log").gauges}
    speed = gauges["generation_tokens_per_s"]
    assert (speed.count, speed.least, speed.greatest) == (3, 234.59, 325.52)


def test_a_context_beyond_the_training_is_a_finding() -> None:
    found = {finding.id for finding in explained("lcb-ctx-too-big-ulimit-v.log").findings}
    assert found == {"context-over-training"}


def test_an_eagle3_start_passes_the_drafter() -> None:
    stages = [span.stage for span in explained("lcb-eagle.log").stages]
    assert stages == [
        Stage.ARGS,
        Stage.LOAD_WEIGHTS,
        Stage.KV_CACHE,
        Stage.DRAFT_LOAD,
        Stage.WARMUP,
        Stage.READY,
    ]


OLD = """\
build: 7410 (0c1d2e3f4) with cc (Debian 12.2.0-14) 12.2.0 for x86_64-linux-gnu
system info: n_threads = 8, n_threads_batch = 8, total_threads = 16
main: binding port with default address family
main: HTTP server is listening, hostname: 127.0.0.1, port: 8085, http threads: 15
main: loading model
srv    load_model: loading model '/m/small-q4.gguf'
llama_model_loader: loaded meta data with 31 key-value pairs and 291 tensors from /m/small-q4.gguf
load_tensors: loading model tensors, this can take a while... (mmap = true)
....................................................................................................
llama_context: constructing llama_context
llama_kv_cache: size =  512.00 MiB (  4096 cells,  32 layers,  1/1 seqs), K (f16):  256.00 MiB
common_init_from_params: warming up the model with an empty run - please wait ...
srv    load_model: initializing slots, n_slots = 1
main: model loaded
main: server is listening on http://127.0.0.1:8085 - starting the main loop
srv  update_slots: all slots are idle
       eval time =    1802.11 ms /   128 tokens (   14.08 ms per token,    71.03 tokens per second)
draft acceptance rate = 0.57576 (  171 accepted /   297 generated)
"""


def test_an_older_build_is_read_as_well() -> None:
    found = explain(OLD.encode())
    assert (found.engine, found.version, found.verdict) == ("llama-cpp", "7410", Verdict.READY)
    assert [span.stage for span in found.stages][:5] == [
        Stage.ARGS,
        Stage.LOAD_WEIGHTS,
        Stage.KV_CACHE,
        Stage.WARMUP,
        Stage.READY,
    ]


def test_an_http_server_without_a_model_is_not_ready() -> None:
    beginning = OLD[: OLD.index("main: loading model")]
    assert explain(beginning.encode()).verdict is Verdict.LOADING


def test_an_older_build_shows_speed_and_acceptance() -> None:
    gauges = {gauge.name: gauge.last for gauge in explain(OLD.encode()).gauges}
    assert gauges == {"generation_tokens_per_s": 71.03, "accept_rate": 0.57576}


@pytest.mark.parametrize(
    ("info", "version"), [("b11520-0c1d2e3f4", "b11520-0c1d2e3f4"), ("b0-unknown", None)]
)
def test_a_build_that_does_not_know_its_version_has_none(info: str, version: str | None) -> None:
    line = f"0.00.003.162 I srv          init: build_info: {info}\n"
    found = explain(b"0.00.000.370 I srv          init: initializing ...\n" + line.encode())

    assert (found.engine, found.version) == ("llama-cpp", version)
