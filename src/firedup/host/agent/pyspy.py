"""Finds a py-spy that may be trusted and has it read a Python process without stopping it."""

import os
import select
import stat as modes
import subprocess
import sys
import time

from firedup.host.agent.proc import read_argv
from firedup.host.agent.system import read_whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_NAME = "py-spy"
_DUMP_BYTES = 65536
_COMPLAINT_BYTES = 4096
_TRIES = 3  # what is read without stopping the process may be torn
_FINAL = ("python version", "ermission")  # of complaints that another try would not change
_LEAVE_S = 1.0
# Nothing of the agent's own surroundings: a locale for file names, and the tools of the system.
_ENV = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}


def list_places(pid: int) -> "list[str]":
    """Folders in which a server's own py-spy would be; none where its files are not this host's.

    May wait for good, where a thread of the process does so with its memory locked.
    """
    try:
        own = [os.readlink(f"/proc/self/{name}") for name in ("root", "ns/mnt")]
        if [os.readlink(f"/proc/{pid}/{name}") for name in ("root", "ns/mnt")] != own:
            return []
        folders = [os.path.dirname(os.readlink(f"/proc/{pid}/exe"))]
    except OSError:
        return []
    argv = read_argv(pid)
    folders += [os.path.dirname(word) for word in argv[:2] if os.path.isabs(word)]
    for pair in (read_whole(f"/proc/{pid}/environ") or b"").split(b"\0"):
        name, _, value = pair.partition(b"=")
        if name == b"PATH":
            folders += os.fsdecode(value).split(":")
        elif name in (b"VIRTUAL_ENV", b"CONDA_PREFIX"):
            folders.append(os.path.join(os.fsdecode(value), "bin"))
    return folders


def list_own_places() -> "list[str]":
    """Folders in which this user's py-spy would be."""
    folders = [os.path.dirname(sys.executable)] if sys.executable else []
    home = os.path.expanduser("~")
    return [*folders, os.path.join(home, ".local", "bin"), *os.environ.get("PATH", "").split(":")]


def find_pyspy(folders: "list[str]") -> "tuple[str | None, str]":
    """The first py-spy in `folders` that only root or this user can have put there, or why none."""
    why_not = "py-spy is not on this host (pip install py-spy beside the engine)"
    for folder in dict.fromkeys(folders):
        path = os.path.join(folder, _NAME)
        if not os.path.isabs(path) or not os.path.isfile(path) or not os.access(path, os.X_OK):
            continue
        fault = distrust(path)
        if not fault:
            return path, ""
        why_not = f"{path} is not run: {fault}"
    return None, why_not


def distrust(path: str) -> str:
    """Who else could have put a program at `path`, empty when nobody: it will run as this user."""
    for place in dict.fromkeys(_list_above(path) + _list_above(os.path.realpath(path))):
        try:
            found, link = os.stat(place), os.lstat(place)
        except OSError as error:
            return f"{place} cannot be looked at: {error.strerror}"
        if {found.st_uid, link.st_uid} - {0, os.geteuid()}:
            return f"{place} belongs to another user"
        is_private = found.st_gid == 0 or found.st_gid == os.getegid() == os.geteuid()
        loose = modes.S_IWOTH if is_private else modes.S_IWOTH | modes.S_IWGRP
        # In a folder such as /tmp nobody can move what another one owns.
        is_sticky = modes.S_ISDIR(found.st_mode) and found.st_mode & modes.S_ISVTX
        if found.st_mode & loose and not is_sticky:
            return f"others may write to {place}"
    return ""


def _list_above(path: str) -> "list[str]":
    """A path and the folders that lead to it."""
    places = [path]
    while places[-1] != "/":
        places.append(os.path.dirname(places[-1]))
    return places


class Spies:
    """The running py-spies, so that all can be ended when nobody waits any more."""

    def __init__(self) -> None:
        self._running = set()  # type: set[Any]
        self.is_over = False

    def ask(self, path: str, pid: int, until_s: float) -> "tuple[str, str]":
        """(what py-spy says of `pid`, "") or ("", why it said nothing), no later than `until_s`."""
        words = ""
        for _ in range(_TRIES):
            text, words = self._ask_once(path, pid, until_s)
            if text or self.is_over or time.monotonic() >= until_s:
                return text, words
            if any(word in words for word in _FINAL):
                break
        return "", words

    def end(self) -> None:
        """Ends them all, and lets none begin."""
        self.is_over = True
        for process in list(self._running):
            process.kill()

    def _ask_once(self, path: str, pid: int, until_s: float) -> "tuple[str, str]":
        if self.is_over:
            return "", "it was not waited for"
        try:
            process = subprocess.Popen(
                [path, "dump", "--nonblocking", "--pid", str(pid)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd="/",
                env=_ENV,
                start_new_session=True,
            )
        except OSError as error:
            return "", f"{path} cannot be run: {error.strerror}"
        self._running.add(process)
        try:
            text, words, is_whole = _read_both(process, until_s)
            status = _leave(process) if is_whole else None
        finally:
            process.kill()
            self._running.discard(process)
            for pipe in (process.stdout, process.stderr):
                if pipe is not None:
                    pipe.close()
            _leave(process)
        said = text.decode("utf-8", "replace")
        if status == 0 and "\nThread " in said:
            return said, ""
        if not is_whole:
            return "", "py-spy did not come to an end in time"
        line = next((line for line in words.decode("utf-8", "replace").split("\n") if line), "")
        if line.startswith("Error: "):
            line = line[7:]
        return "", f"py-spy says: {line[:300] or 'nothing'}"


def _read_both(process: "Any", until_s: float) -> "tuple[bytes, bytes, bool]":
    """What a program prints on both its outputs, with limits, and whether it came to an end."""
    pieces = {process.stdout.fileno(): bytearray(), process.stderr.fileno(): bytearray()}
    limits = {process.stdout.fileno(): _DUMP_BYTES, process.stderr.fileno(): _COMPLAINT_BYTES}
    poll = select.poll()
    for file in pieces:
        poll.register(file, select.POLLIN)
    is_open = len(pieces)
    while is_open:
        left_s = until_s - time.monotonic()
        ready = poll.poll(max(0.0, left_s) * 1000)
        if not ready:
            break
        for file, _ in ready:
            data = os.read(file, 65536)
            if not data:
                poll.unregister(file)
                is_open -= 1
            room = limits[file] - len(pieces[file])
            pieces[file] += data[:room]
    out, complaint = (bytes(piece) for piece in pieces.values())
    return out, complaint, not is_open


def _leave(process: "Any") -> "int | None":
    """The exit status; None of one that even SIGKILL does not end at the moment."""
    try:
        return int(process.wait(_LEAVE_S))
    except subprocess.TimeoutExpired:
        return None
