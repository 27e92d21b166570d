"""A real vLLM of two workers, one of which is stopped: while it loads, and when it is ready."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import firedup.demo
from firedup.core.error import UsageError
from firedup.core.verdict.patience import STOPPED_PATIENCE_S
from firedup.demo.vllm_home import find_vllm

MODEL = Path(firedup.demo.__file__).parent / "vllm_model" / "t8"
START_LIMIT_S, SAID_LIMIT_S = 240.0, 60.0
WORKER = "VLLM::Worker_TP1"
# Two workers on a machine that has one memory node.
ENV = {"HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "VLLM_CPU_OMP_THREADS_BIND": "0|1"}


@dataclass(frozen=True, slots=True)
class Stopped:
    """What was said of the stopped worker: exit status, after how long, by which finding."""

    name: str
    status: int | None
    seconds: float | None
    finding: str
    words: str

    @property
    def is_right(self) -> bool:
        """Status 4, the right finding and the right rank."""
        return self.status == 4 and self.finding == "rank-stopped" and "TP1" in self.words


def play_vllm() -> Iterator[Stopped]:
    """Both scenes one after the other; none where vLLM is not installed."""
    try:
        program = find_vllm(os.environ)
    except UsageError:
        return
    for when in ("loading", "ready"):
        yield _play(program, when)


def _play(program: Path, when: str) -> Stopped:
    name = f"vLLM, a worker stopped: {when}"
    with tempfile.TemporaryDirectory() as folder, _run(program, Path(folder)) as (run, told):
        worker = _await_worker(run)
        if worker is not None and when == "ready":
            worker = worker if _await_words(run, told, '"verdict": "ready"') else None
        if worker is None:
            return Stopped(name, run.poll(), None, "", "no worker came up")
        begun_s = time.monotonic()
        os.kill(worker, signal.SIGSTOP)
        _await_words(run, told, '"verdict": "stalled"', SAID_LIMIT_S)
        seconds = time.monotonic() - begun_s
        try:
            status: int | None = run.wait(SAID_LIMIT_S)
        except subprocess.TimeoutExpired:
            status = None
        last = json.loads(told.read_text().splitlines()[-1])
    finding = next(iter(last.get("findings", ())), {"id": "", "message": ""})
    return Stopped(name, status, seconds, finding["id"], finding["message"])


@contextmanager
def _run(program: Path, folder: Path) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """`firedup run --until exit --on-stall stop` of two workers, and what it prints."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    env = {**os.environ, **ENV, "XDG_STATE_HOME": str(folder / "state")}
    env["PATH"] = f"{program.parent}:{env['PATH']}"
    firedup_ = [sys.executable, "-m", "firedup"]
    words = ["run", "--json", "--force", "--name", "b", "--until", "exit", "--on-stall", "stop"]
    server = ["vllm", "serve", str(MODEL), "--host", "127.0.0.1", "--port", str(port)]
    server += ["--enforce-eager", "--max-model-len", "512", "--kv-cache-memory-bytes", "64M"]
    server += ["--tensor-parallel-size", "2"]
    told = folder / "told.jsonl"
    with told.open("wb") as file:
        run = subprocess.Popen([*firedup_, *words, "--", *server], env=env, stdout=file)
    try:
        yield run, told
    finally:
        run.kill()
        run.wait()
        stop = [*firedup_, "stop", "--grace", "1s", "b"]
        subprocess.run(stop, env=env, capture_output=True, check=False, timeout=SAID_LIMIT_S)


def _await_worker(run: subprocess.Popen[bytes]) -> int | None:
    until_s = time.monotonic() + START_LIMIT_S
    while run.poll() is None and time.monotonic() < until_s:
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and _title(entry) == WORKER:
                return int(entry.name)
        time.sleep(0.2)
    return None


def _title(entry: Path) -> str:
    try:
        return (entry / "cmdline").read_bytes().split(b"\0", 1)[0].decode("utf-8", "replace")
    except OSError:
        return ""


def _await_words(
    run: subprocess.Popen[bytes], told: Path, words: str, limit_s: float = START_LIMIT_S
) -> bool:
    until_s = time.monotonic() + limit_s
    while words not in told.read_text():
        if run.poll() is not None or time.monotonic() > until_s:
            return False
        time.sleep(0.1)
    return True


def tell(stopped: Stopped) -> str:
    """One line of the table."""
    after = "" if stopped.seconds is None else f"{stopped.seconds:.1f} s"
    mark = "" if stopped.is_right else "WRONG: "
    return f"{stopped.name:34}{STOPPED_PATIENCE_S:>7g} s{after:>11}  {mark}{stopped.words[:90]}"
