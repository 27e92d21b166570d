"""A fake engine as a real process: plays a script's log, HTTP answers, signals, children and end.

    python -m firedup.testing.engine --script FILE.json [--speed N] [-- COMMAND LINE IT IMITATES]
    python -m firedup.testing.engine --recording RUN.events.jsonl --speed 100 -- --port 30000

The port is the one that the imitated command line names with `--port`, else the script's, else any;
`@PORT@` and `@PID@` in the script's text become the real numbers. `firedup.testing.program` makes
programs called `sglang`, `vllm` or anything else that play a script. Linux only, as hosts are.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import socket
import sys
import threading
import time
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from firedup.testing.answer import FakeServer
from firedup.testing.recorded import load_recorded
from firedup.testing.script import ScriptError, check_script, load_script

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from firedup.testing.script import End, Http, Piece, Rotation, Script

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)
BUSY = (
    "ERROR:    [Errno 98] error while attempting to bind on address ('{}', {}):"
    " address already in use\n"
)
FOREVER_S = 3600.0
SLICE_S = 0.02  # of waiting between two slices of work


class Output:
    """Where the log goes: the two streams or one file, at once or block by block."""

    def __init__(self, log: str | None, buffer_bytes: int) -> None:
        self.log = log
        self.buffer_bytes = buffer_bytes
        self.held = {"stdout": b"", "stderr": b""}
        self.files = {"stdout": 1, "stderr": 2}
        if log is not None:
            self._open(log)

    def _open(self, log: str) -> None:
        number = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        self.files = {"stdout": number, "stderr": number}

    def write(self, data: bytes, stream: str) -> None:
        """Write, or hold back until a whole block is full."""
        self.held[stream] += data
        size = self.buffer_bytes
        whole = len(self.held[stream]) if size == 0 else len(self.held[stream]) // size * size
        self._put(stream, whole)

    def flush(self) -> None:
        """Write what is held back."""
        for stream in self.held:
            self._put(stream, len(self.held[stream]))

    def _put(self, stream: str, size: int) -> None:
        rest, self.held[stream] = self.held[stream][:size], self.held[stream][size:]
        while rest:
            rest = rest[os.write(self.files[stream], rest) :]

    def rotate(self, rotation: Rotation) -> None:
        """Do to the log file what a rotator does."""
        if self.log is None:
            return
        if rotation.mode == "truncate":
            shutil.copyfile(self.log, f"{self.log}.1")
            os.truncate(self.log, 0)
            return
        Path(self.log).rename(f"{self.log}.1")
        os.close(self.files["stdout"])
        self._open(self.log)


class FakeEngine:
    """One playing of a script. `run` returns the exit status, unless it ends by a signal."""

    def __init__(self, script: Script, port: int | None = None) -> None:
        self.script = script
        self.output = Output(script.log, script.buffer_bytes)
        self.started_s = time.monotonic()
        self.port = port
        self.server: FakeServer | None = None
        self.children: list[int] = []
        self.leashes: list[socket.socket] = []

    def elapsed_s(self) -> float:
        """Seconds of the script's time since the start."""
        return (time.monotonic() - self.started_s) * self.script.speed

    def run(self) -> int:
        """Play to the end, or until SIGTERM or SIGINT."""
        self.children = [self._fork(name) for name in self.script.children]
        signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
        for at_s, act in self._timeline():
            if self._wait_until(at_s):
                return self._stop()
            code = act()
            if code is not None:
                return self._exit(code)
        while not self._wait_until(self.elapsed_s() + FOREVER_S):
            pass
        return self._stop()

    def _timeline(self) -> list[tuple[float, Callable[[], int | None]]]:
        """Return what happens when; at the same instant: port, log, rotation, deaths, end."""
        script = self.script
        acts: list[tuple[float, Callable[[], int | None]]] = []
        if script.http is not None:
            acts.append((script.http.open_s, partial(self._open, script.http)))
        acts += [(p.at_s, partial(self._write, p)) for p in script.pieces]
        acts += [(r.at_s, partial(self._rotate, r)) for r in script.rotations]
        acts += [(k.at_s, partial(os.kill, self.children[k.child], k.signal)) for k in script.kills]
        if script.end is not None:
            acts.append((script.end.at_s, partial(self._end, script.end)))
        return sorted(acts, key=lambda act: act[0])

    def _wait_until(self, at_s: float) -> bool:
        """Wait; True when a signal came that is not ignored."""
        while (left_s := (at_s - self.elapsed_s()) / self.script.speed) > 0:
            is_working = any(begin <= self.elapsed_s() < end for begin, end in self.script.work)
            if is_working:
                sum(range(1_000_000))  # some ten milliseconds of CPU
            wait_s = min(left_s, SLICE_S) if self.script.work else left_s
            if signal.sigtimedwait(STOP_SIGNALS, wait_s) and not self.script.stop.is_ignored:
                return True
        return False

    def _write(self, piece: Piece) -> None:
        data = piece.data.replace(b"@PORT@", str(self.port).encode())
        self.output.write(data.replace(b"@PID@", str(os.getpid()).encode()), piece.stream)

    def _rotate(self, rotation: Rotation) -> None:
        self.output.flush()
        self.output.rotate(rotation)

    def _open(self, http: Http) -> int | None:
        port = self.port if self.port is not None else http.port or 0
        try:
            server = FakeServer(http, port, self.elapsed_s)
        except OSError:
            self.output.write(BUSY.format(http.host, port).encode(), "stderr")
            return 1 if http.on_busy == "exit" else None
        self.server, self.port = server, server.server_address[1]
        if http.port_file is not None:
            Path(http.port_file).write_text(str(self.port))
        if not http.is_silent:
            threading.Thread(target=server.serve_forever, daemon=True).start()
        return None

    def _end(self, end: End) -> int:
        if end.signal is not None:
            die_of(end.signal)
        return end.code

    def _stop(self) -> int:
        begun_s = self.elapsed_s()
        for piece in self.script.stop.pieces:
            self._wait_until(begun_s + piece.at_s)
            self._write(piece)
        self._wait_until(begun_s + self.script.stop.after_s)
        return self._exit(self.script.stop.code)

    def _exit(self, code: int) -> int:
        self.output.flush()
        return code

    def _fork(self, name: str) -> int:
        """Start a worker that sleeps until its parent is gone; `name` is what ps shows."""
        mine, its = socket.socketpair()
        child = os.fork()
        if child:
            its.close()
            mine.recv(1)  # it has its name
            self.leashes.append(mine)  # open as long as this process lives
            return child
        mine.close()
        with suppress(OSError):
            Path("/proc/self/comm").write_text(name)
        its.send(b".")
        while self.script.do_children_survive:
            signal.pause()
        its.recv(1)
        os._exit(0)


def die_of(number: int) -> NoReturn:
    """End this process by a signal, nothing flushed."""
    if number != signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    os.kill(os.getpid(), number)
    raise SystemExit(128 + number)  # a signal that does not kill


def find_port(words: Iterable[str]) -> int | None:
    """The port that a command line names: `--port N` or `--port=N`."""
    before = ""
    for word in words:
        name, _, value = word.partition("=")
        number = word if before == "--port" else value if name == "--port" else ""
        if number.isdigit():
            return int(number)
        before = word
    return None


def play(script: Script, command: Sequence[str] = ()) -> int:
    """Play `script` in this process as if it had been started with the words of `command`."""
    return FakeEngine(script, find_port(command)).run()


def main(argv: Sequence[str]) -> int:
    """Run the program: a script or a recording in, its own exit status out."""
    parser = argparse.ArgumentParser("python -m firedup.testing.engine", allow_abbrev=False)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--script", type=Path, help="a script (JSON)")
    source.add_argument("--recording", type=Path, help="a recorded run")
    parser.add_argument("--speed", type=float, help="how many seconds pass in one")
    parser.add_argument("command", nargs="*", help="the command line that is imitated")
    asked = parser.parse_args(argv)
    try:
        script = load_script(asked.script) if asked.script else load_recorded(asked.recording)
        if asked.speed is not None:
            script = check_script(replace(script, speed=asked.speed))
    except (OSError, ScriptError) as problem:
        parser.error(str(problem))
    return play(script, asked.command)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
