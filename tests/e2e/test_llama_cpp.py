"""A real llama.cpp server behind firedup, through the command line, from launch to prune."""

from __future__ import annotations

import sys

import pytest

from firedup.demo.model import OTHER_VOCABULARY, TARGET, TRAINED, model_path
from tests.e2e.conftest import User, free_port

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]


def command(port: int, *flags: str) -> list[str]:
    target = str(model_path(TARGET))
    return [sys.executable, "-m", "firedup.demo.engine", "-m", target, "--port", str(port), *flags]


def test_a_drafter_is_launched_measured_restarted_without_it_and_pruned(user: User) -> None:
    port = free_port()
    drafted = ["-md", str(model_path(TRAINED)), "--spec-type", "draft-eagle3"]

    first = user.firedup("run", "--json", "--name", "k", "--", *command(port, *drafted))
    assert (first.status, first.result["verdict"]) == (0, "ready")
    assert first.result["acceptance"]["length"] > 1

    again = user.firedup("restart", "--json", "k", "--", "--no=-md", "--no=--spec-type")
    assert (again.status, again.result["verdict"]) == (0, "ready")
    assert again.result["acceptance"] is None

    stopped = user.firedup("stop", "k")
    assert stopped.status == 0
    explained = user.firedup("explain", "--json", again.result["log"]["path"])
    assert explained.result["verdict"] == "stopped"
    user.firedup("prune", "--keep", "0")
    assert user.firedup("ps", "--all", "--json").result["runs"] == []


def test_a_drafter_that_does_not_fit_is_said_and_can_be_required(user: User) -> None:
    flags = ["-md", str(model_path(OTHER_VOCABULARY)), "--spec-type", "draft-simple"]
    words = ["run", "--json", "--require", "speculation", "--"]

    outcome = user.firedup(*words, *command(free_port(), *flags))

    assert (outcome.status, outcome.result["verdict"]) == (1, "ready")
    assert "speculation-off" in {finding["id"] for finding in outcome.result["findings"]}
