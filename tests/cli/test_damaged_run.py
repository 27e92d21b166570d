"""A damaged run folder hides no other run, and is itself told of as far as it can be read."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from firedup.cli import main
from tests.session.earlier import leave_run, took

KEEPER = {"boot_id": "another", "pid": 7, "start_ticks": 7, "server": {"pid": 8, "start_ticks": 8}}
EXIT = {"pid": 8, "start_ticks": 8, "code": 0, "signal": None, "survivors": []}
EXIT |= {"at_ns": 9, "wall_ns": 9}
DAMAGES = (
    ("exit.json", b""),
    ("exit.json", b'{"a": 1}'),
    ("exit.json", json.dumps(EXIT | {"code": "x", "survivors": ["y"]}).encode()),
    ("keeper.json", b'{"boot_id": "b"}'),
    ("keeper.json", json.dumps(KEEPER | {"server": {"pid": "x"}}).encode()),
    ("samples.jsonl", b"\x00\xff{]" * 99),
    ("events.jsonl", b'\xff\xfe\n[]\n{"event": "verdict", "at_ns": "x", "verdict": 5}\n'),
)


def make_run(number: int) -> Path:
    run_id = leave_run(number, name=f"r{number}", **took(5.0, 8.0))
    folder = Path(os.environ["XDG_STATE_HOME"]) / "firedup" / "runs" / run_id
    (folder / "keeper.json").write_text(json.dumps(KEEPER))
    (folder / "exit.json").write_text(json.dumps(EXIT))
    (folder / "server.log").write_text("all that it said\n")
    return folder


def test_what_is_damaged_of_a_run_costs_neither_the_list_nor_the_rest_of_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for number, (name, data) in enumerate(DAMAGES):
        (make_run(number) / name).write_bytes(data)

    assert main(["ps", "--all", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert len(told["runs"]) == len(DAMAGES)
    for number in range(len(DAMAGES)):
        assert main(["logs", f"r{number}"]) == 0


def test_a_run_without_a_readable_manifest_is_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    make_run(1)
    folder = make_run(2)
    (folder / "manifest.json").write_bytes(b'{"id": ')

    assert main(["ps", "--all", "--json"]) == 0
    told = capsys.readouterr()
    assert [run["name"] for run in json.loads(told.out)["runs"]] == ["r1"]
    assert f"1 run folder without a readable manifest: {folder.name}" in told.err
    for word in ("r2", folder.name):
        assert main(["attach", word]) == 2
        assert f"{folder.name} is damaged" in capsys.readouterr().err


def test_a_run_of_which_processes_are_left_is_named_when_it_is_not_pruned(
    capsys: pytest.CaptureFixture[str],
) -> None:
    kept, gone = make_run(1), make_run(2)
    ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
    boot_id = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    keeper = KEEPER | {"boot_id": boot_id, "pid": os.getpid(), "start_ticks": ticks}
    (kept / "keeper.json").write_text(json.dumps(keeper))

    assert main(["prune", "--keep", "0"]) == 0
    told = capsys.readouterr()
    assert told.out == f"deleted {gone.name}\n"
    assert f"firedup: {kept.name} stays" in told.err
