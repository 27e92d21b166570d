"""`firedup preflight`: all that speaks against a launch, and nothing is launched."""

from __future__ import annotations

import json
import os
import socket
import sys
from pathlib import Path

import pytest

from firedup.cli import main
from firedup.cli.checks import PREFLIGHT_CHECKS
from firedup.session.preflight import ALL, CHECKS


def test_the_checks_that_can_be_skipped_are_those_that_there_are() -> None:
    assert (*CHECKS, ALL) == PREFLIGHT_CHECKS


def test_all_that_dooms_a_launch_is_told_and_nothing_is_launched(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        words = ("--engine", "vllm", "--json", "--", sys.executable, "--model", "/no/such/model")
        status = main(["preflight", *words, "--port", port])
        told = json.loads(capsys.readouterr().out)
        skips = ("--skip-check", "ports", "--skip-check", "checkpoints")
        fine = main(["preflight", *skips, *words, "--port", port])

    assert status == 1
    assert told["doomed"] is True
    assert {one["id"] for one in told["findings"]} >= {"port-in-use", "model-missing"}
    assert fine == 0
    assert not (Path(os.environ["XDG_STATE_HOME"]) / "firedup" / "runs").exists()


def test_nothing_against_a_launch_is_said_too(capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["preflight", "--skip-check", "disk", "--", sys.executable, "-V"])

    assert status == 0
    assert capsys.readouterr().out == "nothing speaks against it\n"
