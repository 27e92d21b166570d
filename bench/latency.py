"""Time from a crash line in the log to the printed verdict, beside a bare inotify reader."""

from __future__ import annotations

import argparse
import os
import re
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from firedup.testing.program import make_program
from firedup.testing.script import Script, line

if TYPE_CHECKING:
    from bench.result import Result

BAR_MS = 10.0
START_LIMIT_S, LIMIT_S = 30.0, 10.0
# A little longer than a tick of the watch, at ever different places between two of them.
PAUSES_S = (0.05, 0.31, 0.12, 0.43, 0.23)

START = b"[2026-11-29 18:00:00] server_args=ServerArgs(model_path='/srv/m', tp_size=1)\n"
CRASH = (
    b"[2026-11-29 18:00:01 TP0] Scheduler hit an exception: Traceback (most recent call last):\n"
)
CRASH += b'  File "/opt/model_runner.py", line 1, in load\n    self.load()\n'
CRASH += b"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n\n"
MARK = "Scheduler hit an exception"

# The least that can react to a line: no profile, no record, no second process.
READER = f"""\
import ctypes, os, sys
path = sys.argv[1]
libc = ctypes.CDLL(None)
notices = libc.inotify_init1(0)
libc.inotify_add_watch(notices, path.encode(), 2)
log = os.open(path, os.O_RDONLY)
os.lseek(log, 0, os.SEEK_END)
os.write(1, b"here\\n")
while True:
    os.read(notices, 65536)
    if {MARK.encode()!r} in os.read(log, 1 << 20):
        os.write(1, b"crash\\n")
"""


@dataclass(slots=True)
class Output:
    """The lines of a child's pipe, with the time at which this process read them."""

    file: int
    rest: bytes = b""
    lines: list[tuple[int, bytes]] = field(default_factory=list)
    is_open: bool = True

    def take(self) -> None:
        """Read what is there."""
        data = os.read(self.file, 1 << 20)
        at_ns = time.monotonic_ns()
        *whole, self.rest = (self.rest + data).split(b"\n")
        self.lines += [(at_ns, text) for text in whole]
        self.is_open = bool(data)


@dataclass(frozen=True, slots=True)
class Reaction:
    """Nanoseconds from the write to what the observer read; the reader and firedup."""

    reader_ns: int
    firedup_ns: int

    @property
    def added_ms(self) -> float:
        """How much later than the reader firedup was."""
        return (self.firedup_ns - self.reader_ns) / 1e6


class Observer:
    """The one process whose clock counts: it waits for both pipes at once."""

    def __init__(self, reader: subprocess.Popen[bytes], client: subprocess.Popen[bytes]) -> None:
        assert reader.stdout is not None
        assert client.stdout is not None
        self.reader, self.client = Output(reader.stdout.fileno()), Output(client.stdout.fileno())
        self._poll = select.poll()
        for output in (self.reader, self.client):
            self._poll.register(output.file, select.POLLIN)

    def wait_for(self, output: Output, text: bytes, limit_s: float) -> int:
        """When a line with `text` came, in monotonic ns; earlier lines are forgotten."""
        until = time.monotonic() + limit_s
        while True:
            while output.lines:
                at_ns, found = output.lines.pop(0)
                if text in found:
                    return at_ns
            left_s = until - time.monotonic()
            if left_s <= 0 or not output.is_open:
                sys.exit(f"bench latency: no line with {text.decode()} came within {limit_s:g} s")
            for file, _ in self._poll.poll(left_s * 1e3):
                for one in (self.reader, self.client):
                    if one.file == file:
                        one.take()
                        if not one.is_open:
                            self._poll.unregister(file)

    def react(self, begun_ns: int) -> Reaction:
        """How long both took since `begun_ns`."""
        reader_ns = self.wait_for(self.reader, b"crash", LIMIT_S)
        firedup_ns = self.wait_for(self.client, b'"verdict": "crashed"', LIMIT_S)
        return Reaction(reader_ns - begun_ns, firedup_ns - begun_ns)


def main(argv: list[str]) -> Result:
    """Crash a watched log again and again, then launched servers; compare with the reader."""
    parser = argparse.ArgumentParser(prog="./dev bench latency", description=__doc__)
    parser.add_argument("--lines", type=int, default=120, help="crash lines under `watch`")
    parser.add_argument("--runs", type=int, default=12, help="crashes under `run`")
    asked = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        env = {**os.environ, "XDG_STATE_HOME": str(folder / "state")}
        watched = _crash_watched(folder, env, asked.lines)
        launched = [_crash_launched(folder, env, count) for count in range(asked.runs)]
    return _conclude(watched, launched)


def _crash_watched(folder: Path, env: dict[str, str], count: int) -> list[Reaction]:
    """One `watch` over a log in which a server starts and crashes again and again."""
    log = folder / "watched.log"
    with log.open("ab", buffering=0) as file:
        file.write(START)
        # The process that a watch looks for: it only holds the log open.
        with (
            _child(["cat"], env, stdin=subprocess.PIPE, stdout=file),
            _child([sys.executable, "-S", "-c", READER, str(log)], env) as reader,
            _child([*_firedup("watch"), "--engine", "sglang", str(log)], env) as client,
        ):
            observer = Observer(reader, client)
            observer.wait_for(observer.reader, b"here", START_LIMIT_S)
            observer.wait_for(observer.client, b'"stage"', START_LIMIT_S)
            found = []
            for number in range(count):
                time.sleep(PAUSES_S[number % len(PAUSES_S)])
                begun_ns = time.monotonic_ns()
                file.write(CRASH)
                found.append(observer.react(begun_ns))
                # The next start; the watch would end two quiet seconds after a crash.
                file.write(START)
                observer.wait_for(observer.client, b'"verdict": "loading"', LIMIT_S)
    return found


def _crash_launched(folder: Path, env: dict[str, str], number: int) -> Reaction:
    """One `run` of a program that dies two seconds after its launch."""
    log = folder / f"{number}.log"
    log.touch()
    script = Script(pieces=(line(0.0, START.decode().strip()), line(2.0, CRASH.decode().strip())))
    home = folder / f"programs-{number}"
    home.mkdir()
    program = make_program(home, "sglang", script)
    command = [*_firedup("run"), "--log", str(log), "--", str(program), "serve"]
    with (
        _child([sys.executable, "-S", "-c", READER, str(log)], env) as reader,
        _child(command, env) as client,
    ):
        observer = Observer(reader, client)
        begun_ns = time.monotonic_ns()
        try:
            return observer.react(begun_ns)
        finally:
            stop = [str(Path(sys.executable).with_name("firedup")), "stop", "sglang"]
            subprocess.run(stop, env=env, check=False, capture_output=True, timeout=60)


def _firedup(command: str) -> list[str]:
    return [str(Path(sys.executable).with_name("firedup")), command, "--json", "--until", "exit"]


@contextmanager
def _child(
    words: list[str],
    env: dict[str, str],
    *,
    stdin: int = subprocess.DEVNULL,
    stdout: object = subprocess.PIPE,
) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(words, env=env, stdin=stdin, stdout=stdout)  # type: ignore[call-overload]
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()


def _conclude(watched: list[Reaction], launched: list[Reaction]) -> Result:
    figures: dict[str, float] = {"lines": len(watched), "runs": len(launched)}
    rows = [f"{'ms':24}{'p50':>8}{'p90':>8}{'p99':>8}{'most':>8}"]
    series = {
        "reader": [one.reader_ns / 1e6 for one in watched],
        "firedup watch": [one.firedup_ns / 1e6 for one in watched],
        "added by watch": [one.added_ms for one in watched],
        "added by run": [one.added_ms for one in launched],
    }
    for name, values in series.items():
        if not values:
            continue
        points = [quantile(values, share) for share in (0.5, 0.9, 0.99, 1.0)]
        rows.append(f"{name:24}" + "".join(f"{point:8.2f}" for point in points))
        key = name.replace(" ", "_")
        for label, point in zip(("p50", "p90", "p99"), points, strict=False):
            figures[f"{key}_{label}_ms"] = round(point, 2)
    added_ms = [value for key, value in figures.items() if re.fullmatch("added_.*_p50_ms", key)]
    figures["added_p50_ms"] = max(added_ms)
    return {
        "figures": {**figures},
        "bars": {"added_p50_ms": BAR_MS},
        "met": figures["added_p50_ms"] <= BAR_MS,
        "table": "\n".join(rows),
    }


def quantile(values: list[float], share: float) -> float:
    """The smallest value that at least `share` of all do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -(-int(share * 1000) * len(ordered) // 1000) - 1)]
