"""`firedup logs` over logs that were rotated, and into readers that leave."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typist import LIMIT_S, Shell

from firedup.testing.script import Script, line

pytestmark = pytest.mark.timeout(240)

LINES = [f"line {number}\n" for number in range(8)]
QUIET = Script(tuple(line(0.0, text.rstrip("\n")) for text in LINES))


def wait_for(holds: Callable[[], object]) -> None:
    while not holds():
        select.select((), (), (), 0.02)


def launch(shell: Shell) -> Path:
    """Launch a server that writes its lines and then says nothing; the path of its log.

    Its keeper has seen all of them.
    """
    server = shell.make_server(QUIET)
    assert shell.run("run", "--name", "small", "--no-wait", "--", *server).status == 0
    state = Path(os.environ["XDG_STATE_HOME"], "firedup", "runs")
    (folder,) = [path.parent for path in state.glob("*/manifest.json")]
    wait_for(lambda: sampled(folder) == sum(map(len, LINES)))
    return folder / "server.log"


def sampled(folder: Path) -> int:
    """The size of the log in the keeper's last sample."""
    path = folder / "samples.jsonl"
    lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    whole = [text for text in lines if text.endswith(b"\n")]
    return int(json.loads(whole[-1])["log_size"]) if whole else -1


def test_a_follower_ends_as_soon_as_its_reader_is_gone(shell: Shell) -> None:
    """Nothing more is ever written, so that no failing write can tell."""
    launch(shell)
    with shell.start("logs", "-f", "small") as following:
        assert following.stdout is not None
        assert following.stdout.readline() == LINES[0]

        following.stdout.close()

        assert following.wait(LIMIT_S) == 141


def test_a_pipe_into_head_ends_with_head(shell: Shell) -> None:
    launch(shell)
    words = f"{sys.executable} -m firedup logs -f small | head -n 3"

    piped = subprocess.run(
        ["bash", "-c", words], cwd=shell.folder, capture_output=True, text=True, timeout=LIMIT_S
    )

    assert piped.stdout == "".join(LINES[:3])
    assert piped.stderr == ""


def test_a_file_takes_the_whole_log(shell: Shell) -> None:
    launch(shell)
    target = shell.folder / "copy"
    with target.open("wb") as file:
        done = subprocess.run(
            [sys.executable, "-m", "firedup", "logs", "small"],
            cwd=shell.folder,
            stdout=file,
            timeout=LIMIT_S,
        )

    assert done.returncode == 0
    assert target.read_text() == "".join(LINES)


@pytest.mark.parametrize("mode", ["rename", "copytruncate"])
def test_what_was_rotated_away_is_printed_first(shell: Shell, mode: str) -> None:
    log = launch(shell)
    away = log.with_name("server.log.1")
    if mode == "rename":
        log.rename(away)
    else:
        away.write_bytes(log.read_bytes())
        os.truncate(log, 0)
    with log.open("a") as file:
        file.write("after the rotation\n")

    whole = shell.run("logs", "small")
    tail = shell.run("logs", "-n", "3", "small")

    assert (whole.out, whole.err) == ("".join(LINES) + "after the rotation\n", "")
    assert tail.out == "".join(LINES[-2:]) + "after the rotation\n"


def test_the_last_lines_are_followed_across_a_rotation(shell: Shell) -> None:
    log = launch(shell)
    away = log.with_name("server.log.1")
    log.rename(away)
    with shell.start("logs", "-n", "2", "-f", "small") as following:
        assert following.stdout is not None
        seen = [following.stdout.readline() for _ in range(2)]
        with away.open("a") as old:
            old.write("the last of the old\n")
        seen.append(following.stdout.readline())

        log.write_text("the first of the new\n")
        seen.append(following.stdout.readline())

        following.terminate()
        assert following.wait(LIMIT_S) == 143
    assert seen == [*LINES[-2:], "the last of the old\n", "the first of the new\n"]


def test_what_is_gone_is_said_aside(shell: Shell) -> None:
    log = launch(shell)
    old = log.with_name("server.log.1")
    old.write_bytes(b"another's")
    os.utime(old, (0, 0))
    os.truncate(log, 0)
    with log.open("a") as file:
        file.write("after\n")

    whole = shell.run("logs", "small")

    size = sum(map(len, LINES))
    assert whole.out == "after\n"
    assert whole.err == f"{size} bytes of the log were destroyed before they could be read here\n"


def test_a_tilde_wants_the_number_of_a_run_that_there_is(shell: Shell) -> None:
    launch(shell)

    lettered, empty, beyond = (shell.run("logs", f"small~{back}") for back in ("x", "", "1"))

    assert lettered.err.startswith("firedup: small~x needs a number after the ~\nsmall is the ")
    assert empty.err == ""
    assert beyond.err == "firedup: no small~1: 1 run has that name\n"
    assert (lettered.status, empty.status, beyond.status) == (2, 0, 2)
