"""`firedup probe --from-log`: what a log tells, as text and as JSON, and what is refused."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest
from typist import Shell

RUNS = Path(__file__).parent.parent / "data/engine-runs"


def test_a_log_tells_acceptance_and_the_windows_it_holds_for(shell: Shell) -> None:
    done = shell.run("probe", "--from-log", str(RUNS / "vllm/d_eagle3.log"), "--json")

    assert (done.status, done.err) == (0, "")
    told = json.loads(done.out)
    assert told["acceptance"]["length"] == 3.06
    assert told["windows"].startswith("1 x 10 s")


def test_a_log_that_tells_nothing_is_no_conclusion(shell: Shell) -> None:
    done = shell.run("probe", "--from-log", str(RUNS / "sglang/f02_bad_path.log"))

    assert done.status == 6
    assert "no acceptance length: the log has no line about acceptance" in done.out


def test_a_log_that_is_not_there_is_wrong_use(shell: Shell) -> None:
    done = shell.run("probe", "--from-log", "no-such.log")

    assert done.status == 2
    assert "no-such.log" in done.err
    assert "Traceback" not in done.err


def test_a_log_may_come_from_standard_input(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    log = (RUNS / "sglang/t1_toy_eagle3.log").read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(log)))
    done = shell.run("probe", "--from-log", "-", "--json")

    assert (done.status, done.err) == (0, "")
    assert json.loads(done.out)["acceptance"]["length"] == 3.29
