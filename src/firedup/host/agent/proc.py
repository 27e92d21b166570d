"""Processes as /proc shows them, and the tree below one of them."""

import os
import resource
import time

from firedup.host.agent.system import AgentError, read_bytes, read_whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Container

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = resource.getpagesize()
_HELD_LIMIT = 48  # processes whose files stay open, four each; a keeper may open 1,024 files
_LIST_S = 5.0  # how often all pids are listed for children that no children file names


class Stat:
    """The fields of /proc/PID/stat that are used here."""

    __slots__ = ("cpu_s", "group", "name", "parent", "pid", "rss", "session", "state", "ticks")

    def __init__(self, data: bytes) -> None:
        head, _, rest = data.rpartition(b")")
        pid, _, name = head.partition(b" (")
        fields = rest.split()
        self.pid = int(pid)
        self.name = name.decode("utf-8", "replace")
        self.state = fields[0].decode("ascii")
        self.parent = int(fields[1])
        self.group = int(fields[2])
        self.session = int(fields[3])
        self.cpu_s = (int(fields[11]) + int(fields[12])) / _TICKS
        self.ticks = int(fields[19])
        self.rss = int(fields[21]) * _PAGE


def read_stat(pid: int) -> "Stat | None":
    """The process, None when there is none; a zombie counts as one."""
    data = read_bytes(f"/proc/{pid}/stat", 4096)
    return Stat(data) if data else None


def is_alive(pid: int, start_ticks: int) -> bool:
    """Whether exactly this process lives (zombies do not)."""
    stat = read_stat(pid)
    return stat is not None and stat.ticks == start_ticks and stat.state not in "ZX"


def find_process(pid: int, start_ticks: "int | None") -> Stat:
    """The process; an error when it is gone or its pid belongs to another one now."""
    stat = read_stat(pid)
    if stat is None:
        raise AgentError("gone", f"there is no process {pid}")
    if start_ticks is not None and stat.ticks != start_ticks:
        what = f"process {pid} is another one now: it started later than the one that was meant"
        raise AgentError("gone", what, f"start time {stat.ticks}, expected {start_ticks}")
    return stat


def list_pids() -> "list[int]":
    """All process ids."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def read_argv(pid: int) -> "list[str]":
    """The command line, empty where it cannot be read."""
    data = read_whole(f"/proc/{pid}/cmdline") or b""
    if not data:
        return []
    return [os.fsdecode(word) for word in data.rstrip(b"\0").split(b"\0")]


def describe_process(pid: int) -> "dict[str, Any] | None":
    """Who a process is, for people and for later signals."""
    stat = read_stat(pid)
    if stat is None:
        return None
    try:
        cwd = os.readlink(f"/proc/{pid}/cwd")  # type: str | None
    except OSError:
        cwd = None
    return {
        "pid": pid,
        "start_ticks": stat.ticks,
        "parent": stat.parent,
        "name": stat.name,
        "argv": read_argv(pid),
        "cwd": cwd,
    }


def list_children(pid: int) -> "list[int]":
    """The children of a process's main thread, as far as the kernel lists them."""
    data = read_bytes(f"/proc/{pid}/task/{pid}/children")
    return [int(word) for word in data.split()] if data else []


class Files:
    """Files of processes in /proc that are read again and again, so they stay open.

    That halves what a look costs. The kernel tells an error of a process that is gone, also when
    its number is another's by now.
    """

    def __init__(self) -> None:
        self._held = {}  # type: dict[int, dict[str, int]]

    def read(self, pid: int, name: str) -> "bytes | None":
        """What the file `name` of the process has now, None where it cannot be read."""
        if pid not in self._held and len(self._held) >= _HELD_LIMIT:
            return read_bytes(f"/proc/{pid}/{name}")
        files = self._held.setdefault(pid, {})
        if name not in files:
            try:
                files[name] = os.open(f"/proc/{pid}/{name}", os.O_RDONLY | os.O_CLOEXEC)
            except OSError:
                return None
        try:
            return os.pread(files[name], 65536, 0)
        except OSError:
            self._drop(pid)
            return None

    def keep(self, pids: "Container[int]") -> None:
        """Closes the files of all other processes."""
        for pid in [pid for pid in self._held if pid not in pids]:
            self._drop(pid)

    def _drop(self, pid: int) -> None:
        for file in self._held.pop(pid).values():
            os.close(file)


def _measure(stat: Stat, files: Files) -> "dict[str, Any]":
    read = write = None
    # rchar, wchar, syscr, syscw, read_bytes, write_bytes: a name and a number each
    counts = (files.read(stat.pid, "io") or b"").split()
    if len(counts) >= 12:
        # rchar counts what mmap does not show and the page cache serves; disks count the rest.
        read, write = max(int(counts[1]), int(counts[9])), int(counts[11])
    place = (files.read(stat.pid, "wchan") or b"").decode("ascii", "replace")
    return {
        "pid": stat.pid,
        "start_ticks": stat.ticks,
        "parent": stat.parent,
        "name": stat.name,
        "state": stat.state,
        "cpu_s": stat.cpu_s,
        "rss_bytes": stat.rss,
        "read_bytes": read,
        "write_bytes": write,
        "wait_channel": place if place not in ("", "0") else None,
    }


class Tree:
    """A process and all that descend from it, also after their parents are gone.

    Children forked by a main thread are seen at the next sample, others within five seconds.
    `keeper` is a subreaper whose children belong to the tree, except for its `helpers`, a set that
    may change at any time.
    """

    def __init__(
        self, pid: int, start_ticks: int, keeper: int = 0, helpers: "set[int] | None" = None
    ) -> None:
        self.root = pid
        self.keeper = keeper
        self.helpers = helpers if helpers is not None else set()
        self.members = {pid: start_ticks}
        self._files = Files()
        self._others = set()  # type: set[int]  # pids looked at before and found foreign
        self._listed = None  # type: float | None

    def sample(self) -> "list[dict[str, Any]]":
        """The facts of every living member, the root first."""
        stats = self._refresh()
        order = sorted(stats, key=lambda p: (p != self.root, p))
        return [_measure(stats[pid], self._files) for pid in order]

    def close(self) -> None:
        """Closes the files of the members; a later look opens them again."""
        self._files.keep(())

    def living(self) -> "dict[int, int]":
        """pid -> start time of the members that are alive and no zombies."""
        return {p: s.ticks for p, s in self._refresh(is_thorough=True).items() if s.state != "Z"}

    def _refresh(self, *, is_thorough: bool = False) -> "dict[int, Stat]":
        stats = {}  # type: dict[int, Stat]
        for pid, ticks in list(self.members.items()):
            data = self._files.read(pid, "stat")
            stat = Stat(data) if data else None
            if stat is None or stat.ticks != ticks or stat.state == "X":
                del self.members[pid]
            else:
                stats[pid] = stat
        queue = list(stats) + ([self.keeper] if self.keeper else [])
        while queue:
            parent = queue.pop()
            words = self._files.read(parent, f"task/{parent}/children") or b""
            for child in map(int, words.split()):
                if child not in stats and child not in self.helpers:
                    stat = read_stat(child)
                    if stat is not None:
                        stats[child] = stat
                        queue.append(child)
        now = time.monotonic()
        if is_thorough or self._listed is None or now - self._listed >= _LIST_S:
            self._listed = now
            self._add_listed(stats)
        self.members = {pid: stat.ticks for pid, stat in stats.items()}
        self._files.keep({self.keeper, *stats})
        return stats

    def _add_listed(self, stats: "dict[int, Stat]") -> None:
        """Finds members among the pids that are new since the last list."""
        pids = set(list_pids())
        self._others &= pids
        fresh = []
        for pid in pids - self._others - set(stats):
            stat = read_stat(pid)
            if stat is not None and pid not in (self.keeper, os.getpid(), *self.helpers):
                fresh.append(stat)
        has_grown = True
        while has_grown:
            has_grown = False
            for stat in fresh:
                belongs = stat.parent in stats or (stat.parent == self.keeper and self.keeper)
                if stat.pid not in stats and belongs:
                    stats[stat.pid] = stat
                    has_grown = True
        self._others |= {stat.pid for stat in fresh if stat.pid not in stats}
