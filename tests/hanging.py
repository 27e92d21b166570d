"""A host with a folder whose files can be made to hang, as those of a network file system do.

It is a stand-in: the agent's interpreter gets file functions that wait, outside Python's lock as a
system call does, while a flag is there. What a kernel does is held against it in
`test_hanging_file.py`, with a file lease.
"""

from __future__ import annotations

import sys
import zlib
from dataclasses import dataclass
from pathlib import Path

from firedup.host.base import Host
from firedup.host.bundle import Bundle, load_bundle

_WAITS = """
import builtins, os, posix, time
def _wait_at(owner, name):
    real = getattr(owner, name)
    def call(place, *args, **kwargs):
        path = place
        if isinstance(place, int):
            try: path = posix.readlink('/proc/self/fd/%d' % place)
            except OSError: path = ''
        if isinstance(path, str) and path.startswith(FOLDER):
            while True:
                try: posix.stat(FLAG)
                except OSError: break
                time.sleep(0.01)
        return real(place, *args, **kwargs)
    setattr(owner, name, call)
for _name in 'stat lstat open fstat pread scandir statvfs access readlink listdir mkdir'.split():
    _wait_at(os, _name)
_wait_at(builtins, 'open')
"""
_PYTHON = """#!{python}
import os, sys
words = sys.argv[1:]
at = words.index("-c") + 1
words[at] = {waits!r} + words[at]
os.execv({python!r}, [{python!r}, *words])
"""
_QUICK = {
    "_CHECK_S = 2.0": "_CHECK_S = 0.05",
    "_HANGS_S = 1.0": "_HANGS_S = 0.1",
    "TELL_S = 5.0": "TELL_S = 0.5",
    "ANSWER_S = 20.0": "ANSWER_S = 1.5",
}


@dataclass(frozen=True, slots=True)
class Hop:
    """A step that changes nothing; a host behind it is not this machine."""

    word: str = "hop"

    def wrap(self, program: tuple[str, ...]) -> tuple[str, ...]:
        return program

    def explain(self, status: int | None, stderr: str) -> None:
        return None


class Hanging:
    """`host` with `folder`, whose files hang from `hang` to `free`."""

    def __init__(self, place: Path) -> None:
        place.mkdir(parents=True)
        self.folder = place / "share"
        self.folder.mkdir()
        self._flag = place / "hangs"
        waits = _WAITS.replace("FOLDER", repr(str(self.folder)))
        waits = waits.replace("FLAG", repr(str(self._flag)))
        python = place / "python"
        python.write_text(_PYTHON.format(python=sys.executable, waits=waits), encoding="utf-8")
        python.chmod(0o700)
        self.host = Host("box", (Hop(),), str(python))

    def hang(self) -> None:
        """From now on the files give no answer."""
        self._flag.touch()

    def free(self) -> None:
        """All that waits goes on."""
        self._flag.unlink(missing_ok=True)


def change_agent(changes: dict[str, str]) -> Bundle:
    """The agent's program with other constants."""
    text = load_bundle().text.decode("utf-8")
    for before, after in changes.items():
        assert before in text
        text = text.replace(before, after)
    raw = text.encode("utf-8")
    return Bundle(raw, f"{zlib.crc32(raw):08x}")


def impatient_agent() -> Bundle:
    """The agent's program with short times, so that tests are short, too."""
    return change_agent(_QUICK)
