"""`firedup watch` on servers that somebody else started."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from typist import Shell


@pytest.fixture
def write_log(shell: Shell) -> Iterator[Callable[..., Path]]:
    """Starts a program that writes lines into a log and goes on living."""
    with ExitStack() as stack:

        def start(*lines: str, name: str = "server.log") -> Path:
            path = shell.folder / name
            body = f"import time\nprint({chr(10).join(lines)!r}, flush=True)\ntime.sleep(600)"
            with path.open("w") as file:
                process = stack.enter_context(
                    subprocess.Popen([sys.executable, "-c", body], stdout=file)
                )
            stack.callback(process.kill)
            return path

        yield start


def test_patterns_of_the_user_judge_a_program_that_no_profile_knows(
    shell: Shell, write_log: Callable[..., Path]
) -> None:
    write_log("all systems go")

    watched = shell.run("watch", "server.log", "--ready-pattern", "systems g", "--timeout", "30s")

    assert watched.status == 0
    assert "ready" in watched.out


def test_a_failure_pattern_is_a_crash_while_the_program_lives(
    shell: Shell, write_log: Callable[..., Path]
) -> None:
    write_log("kaboom: it broke")

    watched = shell.run("watch", "server.log", "--json", "--fail-pattern", "^(kaboom|killed)")

    assert watched.status == 1
    result = json.loads(watched.out.splitlines()[-1])
    assert result["cause"]["line"] == "kaboom: it broke"
    assert result["cause"]["class"] == "fail-pattern"


def test_the_words_of_the_loop_are_known_without_any_option(
    shell: Shell, write_log: Callable[..., Path]
) -> None:
    write_log("Load weight begin", "the engine is fired up")

    watched = shell.run("watch", "server.log", "--format", "classic", "--timeout", "30s")

    assert watched.status == 0
    assert watched.out.splitlines()[-1].startswith("SERVER READY at ")


def test_the_classic_format_ends_a_crash_with_the_tail(
    shell: Shell, write_log: Callable[..., Path]
) -> None:
    write_log("one", "two", "RuntimeError: CUDA error: out of memory", "last")

    watched = shell.run("watch", "server.log", "--format", "classic", "--tail", "2")

    assert watched.status == 1
    assert watched.out == "CRASHED!\nRuntimeError: CUDA error: out of memory\nlast\n"


def test_a_log_that_never_comes_is_waited_for_until_the_limit(shell: Shell) -> None:
    watched = shell.run("watch", "none.log", "--timeout", "1s")

    assert watched.status in (5, 6)
    assert "none.log" in watched.out
    assert watched.err == ""


def test_a_stale_log_is_judged_at_once(shell: Shell) -> None:
    log = shell.folder / "old.log"
    log.write_text("Load weight begin. avail mem=79.10 GB\n")
    os.utime(log, (0, time.time() - 7200))

    watched = shell.run("watch", "old.log", "--json", "--timeout", "never")

    assert watched.status == 6
    assert json.loads(watched.out.splitlines()[-1])["exited"] is not False


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("watch", "x.log", "--fail-pattern", "(?=a)b"), "look-ahead"),
        (("watch", "x.log", "--engine", "sglangg"), "Did you mean sglang?"),
        (("watch", "x.log", "--pid", "4194303"), "no process 4194303"),
        (("watch", ".", "--timeout", "1s"), "directory"),
        (("watch", "x.log", "--host", "ssh:"), "'ssh:' names no host"),
        (("run", "--host", "pod:x", "--", "true"), "pod"),
        (("run", "--port", "8000", "--", "true"), "--engine and --target"),
        (("run", "--target", "/models/k2"), "Name one:"),
        (("run", "--engine", "vlm", "--target", "/models/k2"), "Did you mean vllm?"),
        (("run", "--env-file", "missing.env", "--", "true"), "missing.env"),
        (("run",), "no command"),
        (("run", "A=b"), "no command"),
        (("restart", "small", "--tp", "4"), "stand after --"),
        (("attach", "small"), "no run small"),
    ],
)
def test_what_cannot_work_is_said_in_one_message(
    words: tuple[str, ...], message: str, shell: Shell
) -> None:
    ended = shell.run(*words)

    assert (ended.status, ended.out) == (2, "")
    assert message in ended.err
    assert "Traceback" not in ended.err
