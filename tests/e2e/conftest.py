"""A user at the command line: runs firedup as a process and reads what it prints."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

LIMIT_S = 900  # of one command; a start on a busy machine takes minutes


@dataclass(frozen=True)
class Outcome:
    """What a command left: its exit status, its last JSON object, and all of its events."""

    status: int
    result: dict[str, Any]
    events: list[dict[str, Any]]
    errors: str


@dataclass
class User:
    """Types commands. Runs are named so that they can be stopped afterwards."""

    folder: Path
    env: dict[str, str]

    def firedup(self, *words: str, limit_s: float = LIMIT_S) -> Outcome:
        """Run `firedup WORDS` and wait for it."""
        command = [sys.executable, "-m", "firedup", *words]
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=limit_s,
            cwd=self.folder,
            env=self.env,
            check=False,
        )
        events = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        return Outcome(done.returncode, events[-1] if events else {}, events, done.stderr)


def free_port() -> int:
    """A port of 127.0.0.1 that nobody uses at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    """A user with an own state folder; every server is stopped at the end."""
    env = dict(os.environ, XDG_STATE_HOME=str(tmp_path / "state"), HF_HUB_OFFLINE="1")
    env |= {"VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"}
    someone = User(tmp_path, env)
    yield someone
    listed = someone.firedup("ps", "--all", "--json")
    names = [row["id"] for row in listed.result.get("runs", [])]
    if names:
        stopped = someone.firedup("stop", *names)
        assert stopped.status == 0, stopped.errors


@pytest.fixture
def vllm(user: User) -> list[str]:
    """The beginning of a command that serves with the CPU build, which ./dev e2e installs."""
    folder = os.environ.get("FIREDUP_VLLM")
    if not folder:
        pytest.skip(
            "FIREDUP_VLLM names no folder with a vllm program: ./dev e2e could not install it"
        )
    user.env["PATH"] = f"{folder}:{user.env['PATH']}"
    return ["vllm", "serve"]


def serve(user: User, vllm: list[str], model: Path | str, *flags: str, port: int = 0) -> Outcome:
    """`firedup run --json -- vllm serve MODEL …` with what a small machine needs."""
    port = port or free_port()
    small = ["--enforce-eager", "--max-model-len", "512", "--kv-cache-memory-bytes", "64M"]
    given = {flag for flag in flags if flag.startswith("--")}
    defaults: list[str] = []
    for name, value in zip(small[1::2], small[2::2], strict=True):
        if name not in given:
            defaults += [name, value]
    command = [*vllm, str(model), "--host", "127.0.0.1", "--port", str(port), small[0]]
    words = ["run", "--json", "--name", "e2e", "--timeout", "14m", "--force", "--"]
    return user.firedup(*words, *command, *defaults, *flags)


def speculate(draft: Path | str) -> tuple[str, str]:
    return (
        "--speculative-config",
        f'{{"method":"eagle3","model":"{draft}","num_speculative_tokens":3}}',
    )
