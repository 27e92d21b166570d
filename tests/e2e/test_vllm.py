"""A real vLLM on the CPU, launched and judged as a user would: ready, and five failures."""

from __future__ import annotations

import json
import os
import shutil
import signal
from pathlib import Path

import pytest

import firedup.demo
from tests.e2e.conftest import User, free_port, serve, speculate

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1200)]

MODELS = Path(firedup.demo.__file__).parent / "vllm_model"
TARGET, DRAFT = MODELS / "t8", MODELS / "t8_eagle3"


def test_vllm_with_its_drafter_becomes_ready_and_its_acceptance_is_known(
    user: User, vllm: list[str]
) -> None:
    outcome = serve(user, vllm, TARGET, *speculate(DRAFT))

    result = outcome.result
    assert (outcome.status, result["verdict"], result["engine"]) == (0, "ready", "vllm")
    assert result["checks"]["token"] is True
    assert result["checks"]["owner"] == "yes"
    assert result["acceptance"]["length"] > 1.2
    stages = [stage["stage"] for stage in result["stages"]]
    assert stages.index("load-weights") < stages.index("draft-load") < stages.index("ready")

    # The same server, killed behind firedup's back: its exit status is 0 and it is a crash.
    (row,) = user.firedup("ps", "--json").result["runs"]
    assert row["verdict"] == "ready"
    server = _server_of(user, result["run"]["id"])
    workers = [
        int(entry.name)
        for entry in Path("/proc").iterdir()
        if entry.name.isdigit() and _session(entry) == server and _title(entry) == "VLLM::Worker"
    ]
    (worker,) = workers
    os.kill(worker, signal.SIGKILL)
    ended = user.firedup("attach", "--json", "--until", "exit", "--timeout", "5m", "e2e")
    assert (ended.status, ended.result["verdict"]) == (1, "crashed")
    assert "died unexpectedly" in ended.result["cause"]["line"]
    assert ended.result["served_s"] > 0


def test_an_unknown_flag_is_a_crash_in_args(user: User, vllm: list[str]) -> None:
    outcome = serve(user, vllm, TARGET, "--no-such-flag", "1")

    assert (outcome.status, outcome.result["verdict"]) == (1, "crashed")
    assert "unrecognized arguments: --no-such-flag" in outcome.result["cause"]["line"]
    if (end := outcome.result["exit"]) is not None:  # it may take long to end on a busy machine
        assert end["code"] == 2


def test_a_truncated_shard_is_refused_and_with_force_diagnosed(
    user: User, vllm: list[str], tmp_path: Path
) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(TARGET, broken)
    shard = sorted(broken.glob("*.safetensors"))[2]
    with shard.open("r+b") as file:
        file.truncate(shard.stat().st_size // 2)

    refused = user.firedup("run", "--json", "--", *vllm, str(broken), "--port", str(free_port()))
    forced = serve(user, vllm, broken)

    assert refused.status == 1
    assert shard.name in refused.errors
    assert (forced.status, forced.result["verdict"]) == (1, "crashed")
    assert "incomplete metadata" in forced.result["cause"]["line"]
    assert forced.result["stage"] == "load-weights"


def test_too_little_cache_for_one_request_is_found_in_the_engine_core(
    user: User, vllm: list[str]
) -> None:
    flags = ("--max-model-len", "2048", "--kv-cache-memory-bytes", "4M")
    outcome = serve(user, vllm, TARGET, *flags)

    assert (outcome.status, outcome.result["verdict"]) == (1, "crashed")
    assert "max seq len" in outcome.result["cause"]["line"]


def test_a_drafter_of_another_size_is_the_cause_not_the_engine_core(
    user: User, vllm: list[str], tmp_path: Path
) -> None:
    drafter = tmp_path / "drafter"
    shutil.copytree(DRAFT, drafter)
    config = drafter / "config.json"
    config.write_text(
        config.read_text().replace('"draft_vocab_size": 1024', '"draft_vocab_size": 2048')
    )

    outcome = serve(user, vllm, TARGET, *speculate(drafter))

    assert (outcome.status, outcome.result["verdict"]) == (1, "crashed")
    assert "Attempted to load weight" in outcome.result["cause"]["line"]
    assert outcome.result["cause"]["stage"] == "draft-load"


def _server_of(user: User, run_id: str) -> int:
    folder = Path(user.env["XDG_STATE_HOME"]) / "firedup" / "runs" / run_id
    pid: int = json.loads((folder / "keeper.json").read_text())["server"]["pid"]
    return pid


def _session(process: Path) -> int:
    try:
        return int((process / "stat").read_text().rpartition(")")[2].split()[3])
    except OSError:
        return 0


def _title(process: Path) -> str:
    try:
        return (process / "cmdline").read_bytes().split(b"\0")[0].decode(errors="replace").strip()
    except OSError:
        return ""
