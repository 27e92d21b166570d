"""Every bench runs, in its smallest size, and ends with its figures as one line of JSON."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

import bench.__main__ as runner
from bench.latency import quantile
from bench.nasty import NASTY, make_log
from bench.scan import VARIANTS
from bench.serving import READY, write_log
from bench.sshhost import best_kind
from bench.truth import is_same, read_labels

AGENT = ("--seconds", "1", "--tree", "3", "--others", "5", "--link-seconds", "0", "--watched", "3")
RUNS = Path(__file__).parent.parent / "data/engine-runs"
# Figures count things or measure them; none is below zero, save what noise can turn round.
SIGNED = ("added_by_",)


@pytest.fixture
def over_ssh(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client's environment that a bench may change for itself."""
    if best_kind() is None:
        pytest.skip("the OpenSSH client is not installed")
    for name in ("XDG_RUNTIME_DIR", "FIREDUP_SSH"):
        monkeypatch.setenv(name, os.environ.get(name, ""))


def run_bench(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    """The last line of a bench, which ends well."""
    assert runner.main(list(words)) == 0

    *table, last = capsys.readouterr().out.splitlines()
    result: dict[str, Any] = json.loads(last)
    assert table
    assert result["bench"] == words[0]
    assert result["bars"].keys() <= result["figures"].keys()
    assert isinstance(result["met"], bool)
    for name, value in result["figures"].items():
        assert value is None or value >= 0 or name.startswith(SIGNED)
    return result


def test_help_is_compared_with_a_bare_interpreter(capsys: pytest.CaptureFixture[str]) -> None:
    result = run_bench(capsys, "help", "--rounds", "1")

    assert result["figures"]["ratio"] > 1


def test_linear_explains_each_nasty_log_in_each_size(
    capsys: pytest.CaptureFixture[str],
) -> None:
    sizes = ("--sizes-mib", "0.02", "0.1")
    result = run_bench(capsys, "linear", *sizes, "--only", "one-traceback", "noise")

    assert {"growth_one_traceback", "growth_noise"} < result["figures"].keys()
    for name in NASTY:
        assert sum(map(len, make_log(name, 10_000))) == 10_000


def test_scan_is_compared_with_grep_on_every_kind_of_log(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()

    result = run_bench(capsys, "scan", "--size-mib", "1", "--rounds", "1", "--folder", str(folder))

    assert {f"ratio_{variant.name}" for variant in VARIANTS} <= result["figures"].keys()
    assert list(folder.iterdir()) == []


def test_latency_is_measured_under_watch_and_run(capsys: pytest.CaptureFixture[str]) -> None:
    result = run_bench(capsys, "latency", "--lines", "2", "--runs", "1")

    assert result["figures"]["lines"] == 2
    assert result["figures"]["reader_p50_ms"] > 0
    assert result["figures"]["firedup_watch_p50_ms"] > 0


def test_agent_and_keeper_are_measured_beside_other_processes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    result = run_bench(capsys, "agent", *AGENT)

    assert result["figures"]["keeper_cpu_percent"] > 0
    assert result["figures"]["agent_rss_mib"] > 1
    assert result["figures"]["watched_client_cores"] > 0


def test_what_crosses_an_idle_link_is_measured_where_there_is_ssh(
    capsys: pytest.CaptureFixture[str], over_ssh: None
) -> None:
    result = run_bench(capsys, "agent", *AGENT, "--watched", "0", "--link-seconds", "2")

    assert result["figures"]["link_bytes_per_hour"] > 0


def test_latency_over_ssh_is_held_against_a_round_trip(
    capsys: pytest.CaptureFixture[str], over_ssh: None
) -> None:
    result = run_bench(capsys, "latency-ssh", "--lines", "4", "--calls", "10")

    figures = result["figures"]
    assert figures["lines"] == 4
    assert figures["round_trip_p50_ms"] > 0
    assert figures["ssh_added_p50_ms"] > 0


@pytest.mark.timeout(900)
def test_disturbed_runs_lose_and_double_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("XDG_RUNTIME_DIR", "FIREDUP_SSH"):
        monkeypatch.setenv(name, os.environ.get(name, ""))

    result = run_bench(capsys, "faults", "--runs", "2")

    figures = result["figures"]
    assert (figures["runs"], figures["differences"]) == (2, 0)
    assert figures["disturbances"] > 2


def test_truth_counts_right_verdicts_and_root_lines(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for name in ("s01_success", "f02_bad_path"):
        shutil.copy(RUNS / "sglang" / f"{name}.log", tmp_path)
    labels = [
        {"id": "s01_success", "outcome": "ready", "root_line": None, "confidence": "high"},
        {"id": "f02_bad_path", "outcome": "crash", "root_line": "no such words"},
    ]
    file = tmp_path / "labels.jsonl"
    file.write_text("".join(json.dumps(label) + "\n" for label in labels))

    result = run_bench(capsys, "truth", "--prefixes", "3", str(file))

    figures = result["figures"]
    assert (figures["logs"], figures["verdict"], figures["root_line"]) == (2, 1.0, 0.0)
    assert (figures["false_crashes"], figures["false_prefixes"]) == (0, 0)
    assert not result["met"]


def test_verdicts_on_drafters_of_known_worth_are_counted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    result = run_bench(capsys, "decision", "--probes", "1")

    figures = result["figures"]
    assert figures["probes"] == 12
    assert figures["wrong_stored"] == figures["wrong_interleaved"] == 0
    assert figures["requests_interleaved"] > 2 * 6


def test_the_labels_of_recorded_runs_lead_to_their_logs() -> None:
    for file in RUNS.glob("*/expect.jsonl"):
        labels = list(read_labels(file))

        assert all(label.path.exists() and label.verdicts for label in labels)


@pytest.mark.parametrize(
    ("line", "is_right"),
    [
        ("[18:00:00] ValueError:  head_dim  is missing", True),
        ("ValueError: head_dim", True),
        ("head_dim", False),
        ("RuntimeError: something else happened here", False),
        ("", False),
    ],
)
def test_a_root_line_may_be_longer_or_a_little_shorter_than_its_label(
    line: str, *, is_right: bool
) -> None:
    assert is_same(line, ("ValueError: head_dim is missing",)) == is_right


def test_a_made_log_has_its_size_and_serves_after_its_start(tmp_path: Path) -> None:
    size_bytes = 3 << 20
    path = tmp_path / "made.log"

    write_log(path, size_bytes)

    data = path.read_bytes()
    assert size_bytes - 400 < len(data) <= size_bytes
    assert data.endswith(b"\n")
    assert data.count(READY) == 1
    assert data.index(READY) < data.index(b"Decode batch")


def test_a_made_log_can_crash_and_be_coloured(tmp_path: Path) -> None:
    path = tmp_path / "made.log"

    write_log(path, 1 << 20, crashes=True, colours=True)

    data = path.read_bytes()
    served = data[data.index(READY) + len(READY) :].splitlines()
    assert all(b"\x1b[" in row for row in served if b"Decode batch" in row)
    assert b"crashed with exit code -9" in data


@pytest.mark.parametrize(
    ("share", "expected"), [(0.5, 50), (0.9, 90), (0.99, 99), (1.0, 100), (0.0, 1)]
)
def test_a_quantile_is_one_of_the_values(share: float, expected: int) -> None:
    assert quantile([float(n) for n in range(100, 0, -1)], share) == expected


@pytest.mark.usefixtures("over_ssh")
def test_checkpoint_checks_a_great_target_here_and_over_ssh(
    capsys: pytest.CaptureFixture[str],
) -> None:
    result = run_bench(capsys, "checkpoint", "--experts", "2", "--layers", "5", "--rounds", "1")

    figures = result["figures"]
    assert figures["findings"] > 0
    assert figures["apparent_gb"] > 5
    assert figures["tensor_data_bytes"] <= result["bars"]["tensor_data_bytes"]
    assert 0 < figures["link_bytes"] <= result["bars"]["link_bytes"]
