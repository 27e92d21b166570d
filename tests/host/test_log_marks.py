"""What the keeper's samples say of a log: whether it still holds what it held before."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firedup.host.agent.logfile import LogMarks

NOBODY = 0


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "server.log"


def test_a_log_that_only_grows_never_turns(log: Path) -> None:
    marks = LogMarks(str(log))
    turns = [marks.look(NOBODY)["log_turn"]]
    for size in (0, 5, 300, 9000):
        log.write_bytes(b"x" * size)
        turns.append(marks.look(NOBODY)["log_turn"])

    assert turns == [0] * 5


def test_a_short_log_that_was_truncated_and_grew_again_has_turned(log: Path) -> None:
    log.write_bytes(b"one\n")
    marks = LogMarks(str(log))
    marks.look(NOBODY)
    log.write_bytes(b"another and longer\n")

    assert marks.look(NOBODY)["log_turn"] == 1


def test_a_log_that_comes_back_under_its_name_has_not_turned(log: Path) -> None:
    log.write_bytes(b"one\n")
    marks = LogMarks(str(log))
    marks.look(NOBODY)
    log.rename(log.with_suffix(".away"))
    away = marks.look(NOBODY)
    log.with_suffix(".away").rename(log)

    assert (away["log_size"], marks.look(NOBODY)["log_turn"]) == (-1, 0)


def test_a_file_that_the_server_has_open_counts_only_until_another_was_the_log(log: Path) -> None:
    """The server holds the first file as its output, and something writes to the log by name."""
    with log.open("wb") as output:
        server = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=output)
    with server:
        log.write_bytes(b"one\n")
        marks = LogMarks(str(log))
        sizes = [marks.look(server.pid)["log_size"]]
        log.rename(f"{log}.1")
        sizes.append(marks.look(server.pid)["log_size"])
        log.write_bytes(b"another\n")
        sizes.append(marks.look(server.pid)["log_size"])
        shutil.copyfile(log, f"{log}.2")
        os.truncate(log, 0)
        last = marks.look(server.pid)

    assert sizes == [4, 4, 8]
    assert (last["log_size"], last["log_turn"]) == (0, 2)


@given(st.lists(st.sampled_from(["append", "rename", "copytruncate", "delete"]), max_size=12))
def test_each_look_says_whether_the_log_was_replaced_since_the_last(acts: list[str]) -> None:
    with TemporaryDirectory() as name:
        log = Path(name, "server.log")
        marks = LogMarks(str(log))
        turns, expected = [marks.look(NOBODY)["log_turn"]], [0]
        has_content = False
        for number, act in enumerate(acts):
            if act == "rename" and log.exists():
                log.rename(f"{log}.{number}")
            if act == "copytruncate" and log.exists():
                shutil.copyfile(log, f"{log}.{number}")
                os.truncate(log, 0)
            if act == "delete":
                # Its inode is held, so that the next file is known to be another one.
                if log.exists():
                    os.link(log, f"{log}.{number}")
                log.unlink(missing_ok=True)
            with log.open("ab") as file:
                file.write(b"%d " % number + b"x" * (17 * number))
            expected.append(expected[-1] + (act != "append" and has_content))
            has_content = True
            turns.append(marks.look(NOBODY)["log_turn"])

        assert turns == expected
