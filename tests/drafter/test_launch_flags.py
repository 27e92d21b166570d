"""The flags of a launch command: as checks see them, and those that the engine refuses."""

from __future__ import annotations

import pytest

from firedup.drafter.launch import read_launch
from tests.drafter.pairs import found, harm_of, pair


@pytest.mark.parametrize(
    ("command", "version", "ident", "harm"),
    [
        ("sglang serve --model-path m --speculative-draft d", "0.5.23", "flag-refused", "crash"),
        ("sglang serve --model-path m --speculative-draft d", "0.5.9", "flag-refused", None),
        ("sglang serve --model_path m", None, "flag-refused", "crash"),
        ("sglang serve --model-path m --cuda-graph-bs 1", None, "flag-refused", "risk"),
        ("sglang serve --model-path m --cuda-graph-bs 1", "0.5.23", "flag-refused", "crash"),
        ("sglang serve --model-path m --spec-algo EAGLE3", None, "flag-unknown", "risk"),
        ("sglang serve --model-path m --spec-algo EAGLE3", "0.5.23", "flag-unknown", "crash"),
        ("vllm serve m --enforce-eager=1", "0.33.0", "flag-refused", "crash"),
        ("vllm serve m --tensor_parallel_s 2", "0.33.0", "flag-refused", None),
        ("llama-server -m t --port=80", "b11549", "flag-refused", "crash"),
        ("llama-server -m t --new-flag", None, "flag-unknown", None),
        ("some-program --any=thing", None, "flag-unknown", None),
    ],
)
def test_what_the_engines_parser_refuses_is_told(
    command: str, version: str | None, ident: str, harm: str | None
) -> None:
    engine = read_launch(command).engine
    case = pair(command=command, engine=engine, version=version)

    assert harm_of(case, ident) == harm


@pytest.mark.parametrize(
    ("command", "name", "value"),
    [
        ("sglang serve --speculative-algo=EAGLE", "speculative-algorithm", "EAGLE"),
        ("python -m sglang.launch_server --tensor-parallel 8", "tp-size", "8"),
        ("vllm serve m -tp 2 -t 4", "tensor-parallel-size", "4"),
        ("vllm serve m --no-enforce-eager", "enforce-eager", "false"),
        ("vllm serve m --speculative-c.method eagle3", "speculative-config.method", "eagle3"),
        ("llama-server -m t -md d", "spec-draft-model", "d"),
        ("docker run --gpus all vllm/vllm-openai:v0.30.0 --model m -q fp8", "quantization", "fp8"),
        ("some-program --flag_name=x", "flag-name", "x"),
    ],
)
def test_a_flag_goes_by_its_own_name(command: str, name: str, value: str) -> None:
    assert read_launch(command).flags[name] == value


def test_what_was_typed_is_the_evidence() -> None:
    command = "sglang serve --speculative-algo=EAGLE --speculative-draft-model-path d"

    finding = found(pair(command=command), "algorithm-not-the-drafters")

    assert finding is not None
    assert "--speculative-algo=EAGLE" in [one.text for one in finding.evidence]


def test_variables_of_a_container_are_those_of_the_server() -> None:
    launch = read_launch("docker run -e A=1 lmsysorg/sglang sglang serve --tp 4", {"B": "2"})

    assert (launch.engine, launch.tp, dict(launch.env)) == ("sglang", 4, {"A": "1", "B": "2"})


def test_no_flags_are_read_of_a_container_that_starts_nothing() -> None:
    assert read_launch("docker compose up -d").flags == {}
