"""`firedup history` on run folders that are there."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from firedup.cli import main
from firedup.store.index import index_path
from tests.session.earlier import ARGV, SPEC, leave_run, took


def test_starts_are_listed_and_kept_in_the_index(capsys: pytest.CaptureFixture[str]) -> None:
    leave_run(1, **took(50.0, 80.0))
    leave_run(2, verdict="crashed", cause="port-in-use", ready_after_s=None, stages=[])

    assert main(["history", "--json"]) == 0

    starts = json.loads(capsys.readouterr().out)["starts"]
    assert [(s["verdict"], s["cause"], s["ready_after_s"]) for s in starts] == [
        ("crashed", "port-in-use", None),
        ("stopped", None, 80.0),
    ]
    with closing(sqlite3.connect(index_path(os.environ))) as database:
        kept = database.execute("SELECT ready_after_s, stages FROM run ORDER BY id").fetchall()
    assert kept[0] == (80.0, '[["load-weights", 10.0, 50.0]]')


def test_only_the_starts_of_a_model_are_listed_on_demand(
    capsys: pytest.CaptureFixture[str],
) -> None:
    leave_run(1, **took(50.0, 80.0))

    assert main(["history", "--model", "MODEL", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["starts"]) == 1
    assert main(["history", "--model", "llama", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["starts"] == []


def test_two_runs_are_compared(capsys: pytest.CaptureFixture[str]) -> None:
    leave_run(1, version="0.5.8", **took(50.0, 80.0))
    leave_run(2, argv=(*ARGV, "--enable-x"), spec=SPEC, version="0.5.9", **took(90.0, 120.0))

    assert main(["history", "r", "--json"]) == 0

    told = json.loads(capsys.readouterr().out)
    assert {c["name"]: (c["old"], c["new"]) for c in told["changes"]} == {
        "--enable-x": (None, ""),
        "version": ("0.5.8", "0.5.9"),
    }
    assert (told["old"]["ready_after_s"], told["new"]["ready_after_s"]) == (80.0, 120.0)


def test_one_run_is_compared_with_the_one_of_its_name_before(
    capsys: pytest.CaptureFixture[str],
) -> None:
    first, second = leave_run(1), leave_run(2)

    assert main(["history", second, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["old"]["id"], told["new"]["id"]) == (first, second)
    assert main(["history", first]) == 2
    assert f"was launched before {first}" in capsys.readouterr().err


def test_a_host_that_is_not_reached_is_told_of_from_the_index(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    leave_run(1, **took(50.0, 80.0))
    assert main(["history"]) == 0
    capsys.readouterr()
    with closing(sqlite3.connect(index_path(os.environ))) as database, database:
        database.execute("UPDATE run SET host = 'ssh:box'")
    (tmp_path / "ssh").write_text("#!/bin/sh\nexit 255\n")
    (tmp_path / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    assert main(["history", "--host", "box"]) == 0

    said = capsys.readouterr()
    assert "load-weights 50 s" in said.out
    assert "what was known here" in said.err
