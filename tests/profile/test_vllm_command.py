"""Commands that start vLLM, read, composed and ended by its profile."""

from __future__ import annotations

import shlex

import pytest
from compiled import builtin_catalogue

from firedup.core.model import ServerSpec, Stage
from firedup.profile.command import read_command
from firedup.profile.compose import compose_command
from firedup.profile.stop import stop_steps

CATALOGUE = builtin_catalogue()
EAGLE3 = '{"method":"eagle3","model":"/d","num_speculative_tokens":3}'


def read(command: str, **env: str) -> ServerSpec:
    return read_command(shlex.split(command), env, CATALOGUE)


@pytest.mark.parametrize(
    "command",
    [
        "vllm serve /m -tp 8 --port 8100",
        "vllm serve --model /m --tensor-parallel-size=8 --port=8100",
        "python3 -m vllm.entrypoints.openai.api_server --model /m -tp=8 --port 8100",
        "CUDA_VISIBLE_DEVICES=0,1 nohup /opt/py/bin/vllm serve /m --port 8100 -tp 8",
    ],
)
def test_a_server_is_recognised_however_it_is_started(command: str) -> None:
    spec = read(command)
    assert (spec.engine, spec.model, spec.port) == ("vllm", "/m", 8100)
    assert (spec.tensor_parallel, spec.purpose) == (8, "generate")
    assert not spec.asks_for_speculation


@pytest.mark.parametrize("command", ["vllm bench serve --model /m", "vllm chat", "vllm"])
def test_other_programs_of_vllm_are_no_server(command: str) -> None:
    assert read(command).engine is None


def test_the_port_is_8000_when_none_is_given() -> None:
    assert (read("vllm serve /m").port, read("vllm serve /m").bind) == (8000, "0.0.0.0")


@pytest.mark.parametrize(
    "flags",
    [
        f"--speculative-config '{EAGLE3}'",
        f"-sc '{EAGLE3}'",
        "--speculative-config.method eagle3 --speculative-config.model /d",
        "--spec-method eagle3 --spec-model /d",
    ],
)
def test_the_drafter_is_found_in_every_spelling(flags: str) -> None:
    spec = read(f"vllm serve /m {flags}")
    assert (spec.algorithm, spec.draft) == ("eagle3", "/d")


def test_speculation_without_a_drafter_is_speculation() -> None:
    spec = read("""vllm serve /m --speculative-config '{"method":"ngram"}'""")
    assert (spec.algorithm, spec.draft, spec.asks_for_speculation) == ("ngram", None, True)


@pytest.mark.parametrize("flags", ["--runner pooling", "--task embed", "--task=score"])
def test_a_pooling_server_is_asked_for_no_token(flags: str) -> None:
    assert read(f"vllm serve /m {flags}").purpose == "embedding"


def test_a_further_node_is_a_follower() -> None:
    assert read("vllm serve /m --nnodes 2 --node-rank 1").purpose == "follower"


def test_a_key_is_seen_in_the_command_and_in_the_environment() -> None:
    assert read("vllm serve /m --api-key k").has_api_key
    assert read("vllm serve /m", VLLM_API_KEY="k").has_api_key
    assert not read("vllm serve /m").has_api_key


def test_a_quiet_uvicorn_hides_the_ready_line() -> None:
    assert read("vllm serve /m --uvicorn-log-level warning").hides_ready_line
    assert not read("vllm serve /m --uvicorn-log-level info").hides_ready_line


def test_a_composed_command_reads_as_what_was_asked() -> None:
    words = compose_command(
        CATALOGUE, "vllm", target="/m", draft='/d "x"', tensor_parallel=8, port=8100
    )
    spec = read_command(words, {}, CATALOGUE)
    assert (spec.model, spec.draft, spec.algorithm) == ("/m", '/d "x"', "eagle3")
    assert (spec.tensor_parallel, spec.port) == (8, 8100)


@pytest.mark.parametrize(
    ("stage", "steps"),
    [
        (Stage.LOAD_WEIGHTS, [("INT", "main"), ("KILL", "group")]),
        (Stage.SERVING, [("TERM", "main"), ("KILL", "group")]),
        (Stage.READY, [("TERM", "main"), ("KILL", "group")]),
    ],
)
def test_a_start_is_interrupted_and_a_server_terminated(
    stage: Stage, steps: list[tuple[str, str]]
) -> None:
    profile = CATALOGUE.profile("vllm")
    assert profile is not None
    assert [(row.signal, row.to) for row in stop_steps(profile, stage)] == steps
