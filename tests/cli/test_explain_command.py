"""`firedup explain`: what it prints and how it ends."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from typist import Shell

from firedup.cli import main
from firedup.testing.script import End, Script, line

CRASH = """\
[2026-11-29 17:27:53] Load weight begin. avail mem=79.10 GB
Traceback (most recent call last):
  File "server.py", line 7, in load
    raise RuntimeError("the weights do not fit")
RuntimeError: the weights do not fit
"""
READY = """\
[2026-11-29 17:27:53] Load weight begin. avail mem=79.10 GB
[2026-11-29 17:28:53] The server is fired up and ready to roll!
"""


@pytest.fixture
def crash(tmp_path: Path) -> Path:
    path = tmp_path / "crash.log"
    path.write_text(CRASH)
    return path


@pytest.fixture
def ready(tmp_path: Path) -> Path:
    path = tmp_path / "ready.log"
    path.write_text(READY)
    return path


def test_people_read_verdict_and_cause(crash: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(crash)]) == 0

    out = capsys.readouterr().out
    assert "crashed in load-weights" in out
    assert "RuntimeError: the weights do not fit" in out
    assert "\x1b" not in out


def test_programs_read_one_object(crash: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "--json", str(crash)]) == 0

    value = json.loads(capsys.readouterr().out)
    assert (value["verdict"], value["cause"]["line_number"]) == ("crashed", 5)
    assert "path" not in value


def test_several_logs_are_a_line_of_json_each(
    crash: Path, ready: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", "--json", str(crash), str(ready)]) == 0

    values = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(value["path"], value["verdict"]) for value in values] == [
        (str(crash), "crashed"),
        (str(ready), "ready"),
    ]


def test_several_logs_are_told_apart_for_people(
    crash: Path, ready: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", str(crash), str(ready)]) == 0

    out = capsys.readouterr().out
    assert out.index("crash.log") < out.index("crashed") < out.index("ready.log")


def test_the_exit_status_follows_the_verdict_only_on_demand(crash: Path, ready: Path) -> None:
    assert main(["explain", "--exit-status", str(ready)]) == 0
    assert main(["explain", "--exit-status", str(crash)]) == 1
    assert main(["explain", "--exit-status", str(ready), str(crash)]) == 1
    assert main(["explain", str(ready), str(crash)]) == 0


def test_a_log_without_a_start_is_no_conclusion(tmp_path: Path) -> None:
    log = tmp_path / "empty.log"
    log.write_bytes(b"")

    assert main(["explain", "--exit-status", str(log)]) == 6


def test_one_unreadable_log_does_not_hide_the_others(
    ready: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = tmp_path / "missing.log"

    assert main(["explain", str(missing), str(ready)]) == 2

    out, err = capsys.readouterr()
    assert "ready" in out
    assert str(missing) in err


@pytest.mark.parametrize("name", ["", "missing.log"])
def test_what_is_no_log_is_wrong_use(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", str(tmp_path / name)]) == 2
    assert str(tmp_path) in capsys.readouterr().err


def test_an_engine_that_nobody_knows_is_wrong_use(
    ready: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", "--engine", "sgland", str(ready)]) == 2
    assert "Did you mean sglang?" in capsys.readouterr().err


def test_a_profile_of_the_user_is_read_besides(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["profile", "new", "my-engine", "--in", str(tmp_path)]) == 0
    log = tmp_path / "server.log"
    log.write_text("my-engine: loading weights from /m\nmy-engine: no weights in /m\n")
    capsys.readouterr()

    assert main(["explain", "--profile", str(tmp_path / "my-engine"), "--json", str(log)]) == 0

    value = json.loads(capsys.readouterr().out)
    assert value["verdict"] == "crashed"
    assert value["cause"]["class"] == "model-not-found"


def test_colour_is_off_on_demand(crash: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.environ["FORCE_COLOR"] = "1"

    main(["explain", str(crash)])
    coloured = capsys.readouterr().out
    main(["explain", "--no-color", str(crash)])

    assert "\x1b[" in coloured
    assert "\x1b" not in capsys.readouterr().out


def test_a_run_is_explained_by_its_name_with_its_exit_status(shell: Shell) -> None:
    server = shell.make_server(Script((line(0.0, "loading"),), end=End(0.1, code=3)))
    shell.run("run", "--name", "small", "--", *server)

    found = json.loads(shell.run("explain", "--json", "small").out)

    assert (found["verdict"], found["exited"]) == ("crashed", True)
    assert shell.run("explain", "--json", "--host", "local", "small").status == 0
    neither = shell.run("explain", "smaller")
    assert neither.status == 2
    assert "no run is called smaller" in neither.err
