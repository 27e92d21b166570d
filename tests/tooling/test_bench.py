"""The bench runner's contract, and what its measurements count."""

from __future__ import annotations

import json
import signal
import sys
from typing import TYPE_CHECKING

import pytest

import bench
import bench.__main__ as runner
from bench.measure import measure, measure_in_turn, own_cpu_s

if TYPE_CHECKING:
    from pathlib import Path

BENCH = '''"""Counts its arguments."""


def main(argv):
    return {
        "figures": {"arguments": len(argv)},
        "bars": {"arguments": 1},
        "met": len(argv) <= 1,
        "table": "arguments  %d" % len(argv),
    }
'''
BURN = "import time\nwhile time.process_time() < 0.2: pass"


@pytest.fixture
def counting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of benches with one called `counting`."""
    (tmp_path / "counting.py").write_text(BENCH)
    (tmp_path / "shared.py").write_text('"""No bench, since it has no main."""\n')
    monkeypatch.setattr(runner, "FOLDER", tmp_path)
    monkeypatch.setattr(bench, "__path__", [str(tmp_path)])
    monkeypatch.delitem(sys.modules, "bench.counting", raising=False)


@pytest.mark.usefixtures("counting")
def test_without_a_name_all_benches_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert runner.main([]) == 0

    output = capsys.readouterr().out
    assert output.endswith("\n  counting  Counts its arguments.\n")


@pytest.mark.usefixtures("counting")
def test_a_missed_bar_is_a_result_and_no_failure(capsys: pytest.CaptureFixture[str]) -> None:
    assert runner.main(["counting", "a", "b"]) == 0

    *table, last = capsys.readouterr().out.splitlines()
    assert table == ["arguments  2"]
    assert json.loads(last) == {
        "bench": "counting",
        "figures": {"arguments": 2},
        "bars": {"arguments": 1},
        "met": False,
    }


@pytest.mark.usefixtures("counting")
def test_an_unknown_bench_is_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    assert runner.main(["conuting"]) == 2

    assert "there is no conuting; there are: counting" in capsys.readouterr().err


def test_the_cost_counts_the_program_and_the_children_it_waited_for() -> None:
    child = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {BURN!r}])"

    cost = measure([sys.executable, "-c", child])

    assert cost.status == 0
    assert cost.cpu_s >= 0.2
    assert cost.wall_s > 0
    assert cost.peak_bytes > 2**20


def test_the_status_tells_exits_from_signals() -> None:
    ends = "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)"

    assert measure([sys.executable, "-c", "raise SystemExit(3)"]).status == 3
    assert measure([sys.executable, "-c", ends]).status == -signal.SIGKILL


def test_programs_are_run_in_turn_and_the_first_round_is_not_counted(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    programs = {name: ["sh", "-c", f"printf {name} >>'{trace}'"] for name in ("a", "b")}

    costs = measure_in_turn(programs, rounds=2)

    assert trace.read_text() == "ababab"
    assert {name: len(runs) for name, runs in costs.items()} == {"a": 2, "b": 2}


def test_own_cpu_grows_with_own_work_only() -> None:
    before = own_cpu_s()
    measure([sys.executable, "-c", BURN])
    between = own_cpu_s()
    assert sum(range(1_000_000)) == 499_999_500_000

    assert between - before < 0.2
    assert own_cpu_s() > between
