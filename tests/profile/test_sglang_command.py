"""What the SGLang profile reads from a command line, and how it stops a server."""

from __future__ import annotations

from pathlib import Path

import pytest
from compiled import builtin_catalogue

import firedup.profile
from firedup.core.model import ServerSpec, Stage
from firedup.profile.check import check_paths
from firedup.profile.command import read_command
from firedup.profile.stop import stop_steps

FOLDER = Path(firedup.profile.__file__).parent / "catalogue" / "sglang"


def read(command: str) -> ServerSpec:
    return read_command(tuple(command.split()), {}, builtin_catalogue())


def test_the_catalogue_has_no_problems() -> None:
    assert [str(problem) for problem in check_paths([FOLDER])] == []


@pytest.mark.parametrize(
    ("program", "draft", "ranks"),
    [
        (
            "sglang serve --model-path /m/t --port 31000",
            "--speculative-algorithm EAGLE3 --speculative-draft-model-path /m/d",
            "--tp-size 8",
        ),
        (
            "python3 -m sglang.launch_server --model /m/t --port=31000",
            "--speculative-algorithm=EAGLE3 --speculative-draft-model /m/d",
            "--tensor-parallel-size 8",
        ),
        (
            "sglang serve /m/t --port 31000",
            "--speculative-algo EAGLE3 --speculative-draft-model-path=/m/d",
            "--tp 8",
        ),
    ],
)
def test_all_spellings_of_a_launch_mean_the_same(program: str, draft: str, ranks: str) -> None:
    spec = read(f"{program} {draft} {ranks}")
    assert (spec.engine, spec.model, spec.draft) == ("sglang", "/m/t", "/m/d")
    assert (spec.algorithm, spec.tensor_parallel, spec.port) == ("EAGLE3", 8, 31000)
    assert spec.asks_for_speculation


def test_without_flags_the_defaults_of_the_engine_hold() -> None:
    spec = read("sglang serve --model-path /m/t")
    assert (spec.bind, spec.port, spec.health_path) == ("127.0.0.1", 30000, "/health")
    assert not spec.asks_for_speculation
    assert not spec.hides_ready_line


def test_a_quiet_log_level_hides_the_ready_line() -> None:
    assert read("sglang serve --model-path /m/t --log-level warning").hides_ready_line


@pytest.mark.parametrize(
    ("flags", "purpose"),
    [
        ("--is-embedding", "embedding"),
        ("--disaggregation-mode prefill", "prefill"),
        ("--disaggregation-mode decode", "decode"),
        ("--nnodes 2 --node-rank 1", "follower"),
        ("--nnodes 2 --node-rank 0", "generate"),
    ],
)
def test_a_server_that_cannot_be_asked_for_a_token_is_known(flags: str, purpose: str) -> None:
    assert read(f"sglang serve --model-path /m/t {flags}").purpose == purpose


@pytest.mark.parametrize("stage", [Stage.LOAD_WEIGHTS, Stage.GRAPH_CAPTURE, Stage.SERVING, None])
def test_a_stop_asks_the_main_process_first_and_kills_the_group_last(stage: Stage | None) -> None:
    steps = stop_steps(builtin_catalogue().profile("sglang"), stage)
    assert [(step.signal, step.to) for step in steps] == [("TERM", "main"), ("KILL", "group")]
