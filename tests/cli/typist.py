"""Types commands as a user does, and keeps a fake server at hand."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from leftover import kill_left
from port import free_port

from firedup.cli import main
from firedup.testing.program import make_program
from firedup.testing.script import Http, Script, line

LIMIT_S = 100
JSON_PAGE = Path(__file__).parents[2] / "docs" / "reference" / "json.md"
READY = Script(
    (
        line(0.0, "0.00.010.000 I main: loading model"),
        line(0.1, "0.00.020.000 I srv    load_model: loading model '/m/target.gguf'"),
        line(0.2, "0.00.300.000 I main: model loaded"),
        line(0.2, "0.00.300.000 I main: server is listening on http://127.0.0.1:@PORT@"),
    ),
    Http(open_s=0.1, health=((0.2, 200),)),
)


@dataclass(frozen=True)
class Outcome:
    """How a command ended."""

    status: int
    out: str
    err: str


@dataclass(frozen=True)
class Shell:
    """Types commands, as a user with a home of his own."""

    folder: Path
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    def start(self, *words: str) -> subprocess.Popen[str]:
        """A command that goes on."""
        process = subprocess.Popen(
            [sys.executable, "-m", "firedup", *words],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.started.append(process)
        return process

    def end(self) -> None:
        """Kill what goes on, and close what was not read."""
        kill_left(os.environ["XDG_STATE_HOME"])
        for process in self.started:
            process.kill()
            for stream in filter(None, (process.stdout, process.stderr)):
                stream.close()
            process.wait()

    def run(self, *words: str) -> Outcome:
        """A command to its end, within this process: half of what one takes is to begin.

        What is special about a process of its own (signals, terminals, pipes) wants `start`.
        """
        with contextlib.chdir(self.folder), captured() as said:
            status = main(words)
        return Outcome(status, *said)

    def make_server(self, script: Script = READY) -> tuple[str, ...]:
        """The words that start a fake llama-server on a free port."""
        program = make_program(self.folder, "llama-server", script)
        return (str(program), "--port", str(free_port()))


@contextlib.contextmanager
def captured() -> Iterator[list[str]]:
    """What is written to both outputs within the block, by children as well; filled at its end."""
    said: list[str] = []
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        files = Path(folder, "out"), Path(folder, "err")
        for number, (name, path) in enumerate(zip(("stdout", "stderr"), files, strict=True), 1):
            stream = stack.enter_context(path.open("w", encoding="utf-8"))
            kept = os.dup(number)
            stack.callback(os.close, kept)
            stack.callback(os.dup2, kept, number)
            os.dup2(stream.fileno(), number)
            stack.callback(setattr, sys, name, getattr(sys, name))
            setattr(sys, name, stream)
        try:
            yield said
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            said += [path.read_text(encoding="utf-8") for path in files]


def finish(process: subprocess.Popen[str]) -> Outcome:
    """The end of a command that was started."""
    out, err = process.communicate(timeout=LIMIT_S)
    return Outcome(process.returncode, out, err)


def read_until(process: subprocess.Popen[str], text: str) -> str:
    """Read standard output up to the line that holds `text`."""
    assert process.stdout is not None
    seen = ""
    for row in process.stdout:
        seen += row
        if text in row:
            return seen
    pytest.fail(f"{text!r} never came:\n{seen}\n{process.stderr and process.stderr.read()}")


def documented(part: str) -> set[str]:
    """The keys that the page about JSON has in its table `part`."""
    table = JSON_PAGE.read_text().split(f"<!-- keys: {part} -->\n", 1)[1].split("\n\n", 1)[0]
    return {
        key for row in table.splitlines()[2:] for key in re.findall(r"`(\w+)`", row.split("|")[1])
    }
