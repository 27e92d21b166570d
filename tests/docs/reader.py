"""Does what a page says, in a folder of its own, and compares what is printed."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from leftover import kill_left
from port import free_port

from firedup.demo.model import MODELS, model_path
from tools.page import Supply, Typed, read_script

ROOT = Path(__file__).parents[2]
DEMO_MODELS = "the demo's models"
# Where any text may stand: outputs are shortened by it, on the page and by firedup itself.
GAP = "…"
LIMIT_S = 100
# What is never the same twice, and what stands for it in a comparison.
_VARYING = (
    (re.compile(r"\b\d{8}-\d{6}-([\w-]+?)-[0-9a-f]{4}\b"), r"ID-\1"),
    (re.compile(r"\b\d\d:\d\d:\d\d\b"), "TIME"),
    (re.compile(r"[+-]\d\d:\d\d\b"), "ELAPSED"),
    (re.compile(r"\b[\d.]+ (?:min|ms|h|s)(?: \d+ (?:min|s))?(?!\w)"), "DURATION"),
    (re.compile(r"\bpid \d+"), "pid N"),
    (re.compile(r"\b\d+\.\d\d\.\d{3}\.\d{3}\b"), "CLOCK"),
    (re.compile(r"\[\d+\] \d+"), "[1] N"),
)
_PORT = re.compile(r"--port (\d{4,5})")


class MismatchError(AssertionError):
    """What was printed is not what the page shows."""


@dataclass
class Reader:
    """Types the commands of one page into one shell; `end` leaves no process behind."""

    folder: Path
    environment: Mapping[str, str]
    ports: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._shell = subprocess.Popen(
            ["bash", "--norc", "--noprofile"],
            cwd=self.folder,
            env=dict(self.environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def follow(self, page: Path) -> int:
        """Do all that the page says; how many commands that were. Raises MismatchError."""
        count = 0
        for item in read_script(page.read_text(encoding="utf-8")):
            if isinstance(item, Supply):
                supply(item, self.folder)
                continue
            compare(item, self.type(item))
            count += 1
        return count

    def type(self, typed: Typed) -> str:
        """What the command prints, with the page's ports in place of those really used."""
        command = typed.command
        for port in _PORT.findall(command):
            self.ports.setdefault(port, str(free_port()))
        for port, real in self.ports.items():
            command = re.sub(rf"\b{port}\b", real, command)
        end = f"end-of-{typed.line}-{os.urandom(4).hex()}"
        assert self._shell.stdin is not None
        assert self._shell.stdout is not None
        self._shell.stdin.write(f"{command}\n{{ _s=$?; echo; echo {end}; (exit $_s); }}\n")
        self._shell.stdin.flush()
        lines = []
        limit = threading.Timer(LIMIT_S, os.killpg, (self._shell.pid, signal.SIGKILL))
        limit.start()
        for line in self._shell.stdout:
            if line.strip() == end:
                limit.cancel()
                break
            lines.append(line)
        else:
            limit.cancel()
            raise MismatchError(f"line {typed.line}: it never ended:\n{''.join(lines)}")
        printed = "".join(lines)
        for port, real in self.ports.items():
            printed = re.sub(rf"\b{real}\b", port, printed)
        return printed

    def end(self) -> None:
        """Kill the shell and everything that was started from it, detached or not."""
        kill_left(self.environment["XDG_STATE_HOME"])
        self._shell.communicate()


def make_environment(home: Path) -> dict[str, str]:
    """A user's environment in which nothing is left of the tester's."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {
        "PATH": path,
        "HOME": str(home),
        "XDG_STATE_HOME": str(home / "state"),
        "XDG_CONFIG_HOME": str(home / "config"),
        "XDG_CACHE_HOME": os.environ["XDG_CACHE_HOME"],
        "COLUMNS": "80",
        "LANG": "C.UTF-8",
        "TZ": "UTC",
    }


def supply(item: Supply, folder: Path) -> None:
    """Put what the page takes for granted into `folder`."""
    if item.what == DEMO_MODELS:
        for model in MODELS:
            shutil.copy(model_path(model), folder / model.file)
    else:
        source = ROOT / item.what
        shutil.copy(source, folder / (item.name or source.name))


def compare(typed: Typed, printed: str) -> None:
    """Raise MismatchError unless the page shows `printed`, apart from what always varies."""
    rest = normalise(printed)
    pieces = [normalise(piece) for piece in typed.output.split(GAP)]
    pattern = ".*".join(re.escape(piece) for piece in pieces)
    if re.fullmatch(pattern, rest, re.DOTALL):
        return
    for piece in filter(None, pieces):
        _, found, after = rest.partition(piece)
        if not found:
            raise MismatchError(
                f"line {typed.line}: $ {typed.command}\nnot printed: {piece}\nbut:\n{printed}"
            )
        rest = after
    raise MismatchError(
        f"line {typed.line}: $ {typed.command}\nmore or less was printed:\n{printed}"
    )


def normalise(text: str) -> str:
    """One line without what varies; where lines were broken, quoted ones too, does not count."""
    for pattern, word in _VARYING:
        text = pattern.sub(word, text)
    return " ".join(text.replace("│", " ").split())
