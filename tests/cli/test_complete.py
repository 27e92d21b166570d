"""Completion in a shell, asked as bash asks for it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

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


def put(*runs: tuple[str, str]) -> None:
    with open_index(index_path(os.environ)) as index:
        index.put(
            IndexedRun(host, f"20261129-{n}", name, "/f", started_ns=n)
            for n, (host, name) in enumerate(runs)
        )


def test_runs_are_those_of_the_host_that_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    put(("local", "kimi-a"), ("box", "kimi-b"), ("box", "kimi-c"), ("lab", "kimi-c"))

    assert complete("logs", "--host", "ssh:box", "k") == ["kimi-c", "kimi-b"]
    assert complete("logs", "--host", "local", "k") == ["kimi-a"]
    assert complete("logs", "k") == ["kimi-c", "kimi-b", "kimi-a"]
    monkeypatch.setenv("FIREDUP_HOST", "lab")
    assert complete("logs", "k") == ["kimi-c"]


def test_hosts_are_completed_from_what_the_user_has_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    (home / ".ssh" / "more").mkdir(parents=True)
    (home / ".ssh" / "config").write_text(
        "Include more/*.conf\nHost box gpu-* !gpu-9\n  HostName 10.0.0.1\nhost=lab\n"
        'Match host x\n  User y\n# Host none\nHost "half\n'
    )
    (home / ".ssh" / "more" / "a.conf").write_text("Host lamp\nInclude ~/.ssh/config\n")
    monkeypatch.setenv("HOME", str(home))
    put(("lab2", "kimi"))
    memories = Path(os.environ["XDG_CONFIG_HOME"], "firedup", "hosts")
    memories.mkdir(parents=True)
    (memories / "docker%3Al.toml").touch()

    assert complete("ps", "--host", "") == ["local", "lamp", "box", "lab", "docker:l", "lab2"]
    assert complete("run", "--host", "la") == ["lamp", "lab", "lab2"]
    assert complete("host", "b") == ["box"]


def test_without_an_index_nothing_is_completed_and_none_is_made() -> None:
    assert complete("attach", "k") == []
    assert not index_path(os.environ).exists()


def test_the_script_for_the_shell_is_printed() -> None:
    environ = {**os.environ, "_FIREDUP_COMPLETE": "zsh_source"}
    argv = [sys.executable, "-c", "from firedup.cli import main; main()"]

    done = subprocess.run(argv, env=environ, capture_output=True, text=True, check=False)

    assert "#compdef firedup" in done.stdout
