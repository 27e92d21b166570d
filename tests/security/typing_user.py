"""Commands as a user types them, under a careless umask, and nothing of them left afterwards."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

from firedup.testing.program import first_lines

LIMIT_S = 150


@dataclass(frozen=True)
class Said:
    """How a command ended and all that it said."""

    status: int
    out: str
    err: str

    @property
    def all(self) -> str:
        """Both streams."""
        return self.out + self.err


@dataclass(frozen=True)
class User:
    """Types commands in a folder of his own."""

    folder: Path

    def type(self, *words: str, **env: str) -> Said:
        """A command to its end, with its output in pipes."""
        done = subprocess.run(
            [sys.executable, "-m", "firedup", *words],
            cwd=self.folder,
            env={**os.environ, **env},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            umask=0,
            check=False,
        )
        return Said(done.returncode, done.stdout, done.stderr)

    def type_on_terminal(self, *words: str) -> Said:
        """The same on a terminal."""
        master, slave = pty.openpty()
        seen: list[bytes] = []

        def read() -> None:
            while True:
                try:
                    data = os.read(master, 65536)
                except OSError:  # the other end is closed
                    return
                seen.append(data)

        reader = threading.Thread(target=read)
        reader.start()
        try:
            done = subprocess.run(
                [sys.executable, "-m", "firedup", *words],
                cwd=self.folder,
                env={**os.environ, "TERM": "xterm-256color"},
                stdin=slave,
                stdout=slave,
                stderr=slave,
                timeout=LIMIT_S,
                check=False,
            )
        finally:
            os.close(slave)
            reader.join()
            os.close(master)
        return Said(done.returncode, b"".join(seen).decode(errors="replace"), "")

    def program(self, body: str, name: str = "sglang") -> str:
        """An executable Python program."""
        path = self.folder / name
        path.write_text(first_lines() + body)
        path.chmod(0o755)
        return str(path)
