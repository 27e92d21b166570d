"""Completion in a shell, asked as bash asks for it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from firedup.store.index import IndexedRun, index_path, open_index


def complete(*words: str) -> list[str]:
    environ = {
        **os.environ,
        "_FIREDUP_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(["firedup", *words]),
        "COMP_CWORD": str(len(words)),
    }
    argv = [sys.executable, "-c", "from firedup.cli import main; main()"]
    done = subprocess.run(argv, env=environ, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return [line.partition(",")[2] for line in done.stdout.splitlines() if line]


def test_commands_and_options_are_completed() -> None:
    assert complete("ex") == ["explain"]
    assert complete("watch", "--ready") == ["--ready-pattern"]
    assert complete("watch", "--format", "c") == ["classic"]


@pytest.mark.parametrize("command", ["attach", "logs", "stop", "restart"])
def test_runs_are_completed_from_the_index(command: str) -> None:
    with open_index(index_path(os.environ)) as index:
        index.put(
            IndexedRun("local", f"20261129-{n}", name, "/f", started_ns=n)
            for n, name in enumerate(["kimi", "kimi", "qwen"])
        )

    assert complete(command, "k") == ["kimi"]
    assert complete(command, "20261129-2") == ["20261129-2"]


def test_without_an_index_nothing_is_completed_and_none_is_made() -> None:
    assert complete("attach", "k") == []
    assert not index_path(os.environ).exists()


def test_the_script_for_the_shell_is_printed() -> None:
    environ = {**os.environ, "_FIREDUP_COMPLETE": "zsh_source"}
    argv = [sys.executable, "-c", "from firedup.cli import main; main()"]

    done = subprocess.run(argv, env=environ, capture_output=True, text=True, check=False)

    assert "#compdef firedup" in done.stdout
