"""Which processes hold a file open, so that a log leads to its server."""

import os

from firedup.host.agent.proc import describe_process, list_pids
from firedup.host.agent.system import read_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterator


def _open_files(pid: int) -> "Iterator[tuple[str, str]]":
    """(descriptor, what it is) of each open file of a process; raises where not allowed."""
    for name in os.listdir(f"/proc/{pid}/fd"):
        try:
            yield name, os.readlink(f"/proc/{pid}/fd/{name}")
        except OSError:
            continue


def _is_writing(pid: int, name: str) -> bool:
    for line in (read_bytes(f"/proc/{pid}/fdinfo/{name}", 4096) or b"").splitlines():
        if line.startswith(b"flags:"):
            return int(line.split()[1], 8) & os.O_ACCMODE != os.O_RDONLY
    return False


def op_holders(args: "dict[str, Any]", _work: "Any" = None) -> "dict[str, Any]":
    """holders {path}: the processes that have the file open, writers first.

    Where a writer reads its input from a pipe (`server | tee log`) the processes that write into
    that pipe are listed too, with `via` naming the reader. `is_complete` is false when some
    process could not be looked at.
    """
    search = Holders(os.path.realpath(args["path"]))
    for pid in list_pids():
        if pid != os.getpid():
            search.look(pid)
    search.add_feeders()
    holders = sorted(search.found.values(), key=lambda e: (not e["is_writing"], e["pid"]))
    return {"holders": holders, "is_complete": search.is_complete}


class Holders:
    """The search for the processes that have one file open."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.target = os.stat(path)
        self.found = {}  # type: dict[int, dict[str, Any]]
        self.is_complete = True
        self._pipes = {}  # type: dict[str, list[tuple[int, bool]]]
        self._inputs = {}  # type: dict[int, str]

    def look(self, pid: int) -> None:
        """At every open file of one process."""
        try:
            for name, link in _open_files(pid):
                if link.startswith("pipe:["):
                    if name == "0":
                        self._inputs[pid] = link
                    else:
                        self._pipes.setdefault(link, []).append((pid, _is_writing(pid, name)))
                elif link.startswith("/") and self._is_target(pid, name, link):
                    self._add(pid, is_writing=_is_writing(pid, name))
        except FileNotFoundError:  # it has ended
            return
        except OSError:
            # Kernel threads may not be looked at, hold no files and have no command line.
            if read_bytes(f"/proc/{pid}/cmdline", 1):
                self.is_complete = False

    def _add(self, pid: int, *, is_writing: bool, via: "int | None" = None) -> None:
        entry = self.found.get(pid) or describe_process(pid)
        if entry is not None:
            writes = is_writing or entry.get("is_writing", False)
            entry.update(is_writing=writes, via=via)
            self.found[pid] = entry

    def _is_target(self, pid: int, name: str, link: str) -> bool:
        if link == self.path:
            return True
        if link.startswith(("/dev/", "/proc/")):
            return False
        try:
            there = os.stat(f"/proc/{pid}/fd/{name}")
        except OSError:
            return False
        return (there.st_dev, there.st_ino) == (self.target.st_dev, self.target.st_ino)

    def add_feeders(self) -> None:
        """Those who write into the pipes that writers read from."""
        for reader in [p for p, entry in self.found.items() if entry["is_writing"]]:
            for pid, writes in self._pipes.get(self._inputs.get(reader, ""), []):
                if writes and pid not in self.found:
                    self._add(pid, is_writing=True, via=reader)
