"""However a command ends, there is a message for people and a status for programs."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from typist import Shell, finish

from firedup.cli import door, explain, main
from firedup.core.error import HostError, UsageError


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "server.log"
    path.write_text("The server is fired up and ready to roll!\n")
    return path


def fail_with(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `firedup explain` raise `error`."""

    def fail(**_: object) -> int:
        raise error

    monkeypatch.setattr(explain.command, "callback", fail)


def test_a_fault_of_firedup_is_told_and_its_traceback_is_in_a_file(
    log: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["firedup", "explain", "--api-key=sk-123456789012345678"])
    fail_with(KeyError("lost"), monkeypatch)

    assert main(["explain", str(log)]) == 70

    out, err = capsys.readouterr()
    assert out == ""
    assert "Traceback" not in err
    assert "KeyError: 'lost'" in err
    (file,) = Path(os.environ["XDG_STATE_HOME"], "firedup", "faults").iterdir()
    assert str(file) in err
    assert "Traceback" in file.read_text()
    assert "sk-1234" not in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_fault_is_told_even_without_a_place_for_its_file(
    log: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(os.environ["XDG_STATE_HOME"]).write_text("no folder")
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(log))
    fail_with(KeyError("lost"), monkeypatch)

    assert main(["explain", str(log)]) == 70
    assert "could not be written" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (UsageError("no"), 2),
        (HostError("gone"), 3),
        (KeyboardInterrupt(), 130),
        (door.Terminated(), 143),
        (ExceptionGroup("tasks", [ExceptionGroup("more", [HostError("gone")])]), 3),
        (BaseExceptionGroup("tasks", [KeyboardInterrupt()]), 130),
        (BaseExceptionGroup("tasks", [KeyError("x"), door.Terminated()]), 143),
    ],
)
def test_each_end_has_its_status(
    error: BaseException,
    status: int,
    log: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    fail_with(error, monkeypatch)

    assert main(["explain", str(log)]) == status
    assert "Traceback" not in capsys.readouterr().err


def test_the_parts_of_an_error_are_all_shown(
    log: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    error = UsageError("what\x1b[31m", where="where", evidence="seen", why="why", todo="do")
    fail_with(error, monkeypatch)

    main(["explain", str(log)])

    assert capsys.readouterr().err == "firedup: what\n  where\n  seen\n  why\ndo\n"


def test_a_reader_that_goes_away_is_no_error(log: Path, shell: Shell) -> None:
    process = shell.start("explain", *[str(log)] * 2000)
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()

    _, err = process.communicate(timeout=100)

    assert (process.returncode, err) == (141, "")


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["int", "term"]
)
def test_a_signal_ends_a_command_that_waits_for_input(
    number: signal.Signals, status: int, tmp_path: Path, shell: Shell
) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    process = shell.start("explain", str(fifo))
    with fifo.open("wb"):  # blocks until the command has opened it, too
        process.send_signal(number)
        outcome = finish(process)

    assert (outcome.status, outcome.err) == (status, "")


def test_output_that_the_locale_cannot_write_is_no_fault(tmp_path: Path, shell: Shell) -> None:
    log = tmp_path / "s.log"
    log.write_text(
        "Traceback (most recent call last):\n"
        '  File "server.py", line 7, in load\n'
        "RuntimeError: größer als 80 GB 🚀\n"
    )
    environ = {**os.environ, "PYTHONIOENCODING": "ascii:strict"}

    argv = [sys.executable, "-m", "firedup", "explain", str(log)]
    done = subprocess.run(argv, env=environ, capture_output=True, check=False, timeout=100)

    assert done.returncode == 0
    assert done.stdout.isascii()
    assert b"RuntimeError" in done.stdout


def test_python_runs_the_package_as_the_command(shell: Shell) -> None:
    assert shell.run("--version").out.startswith("firedup ")
