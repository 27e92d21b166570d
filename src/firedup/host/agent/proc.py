"""Processes as /proc shows them, and the tree below one of them."""

import os
import time

from firedup.host.agent.look import Files, Look, Stat
from firedup.host.agent.system import AgentError, read_bytes, read_whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# How often all pids are listed for children that no children file names: a young tree's, or one
# in which such were found lately, and any other's.
_LIST_S, _SELDOM_S, _LATELY_S = 5.0, 30.0, 60.0


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


class Tree:
    """A process and all that descend from it, also after their parents are gone.

    Children forked by a main thread are seen at the next sample, others within five seconds, or
    within thirty where there were none for a minute.
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
        self._looks = {}  # type: dict[int, Look]
        self._others = set()  # type: set[int]  # pids looked at before and found foreign
        self._listed = None  # type: float | None
        self._last_pid = b""  # that the kernel had given when children were looked for
        self._hidden = time.monotonic()  # when a child was found that only the list shows

    def sample(self) -> "list[dict[str, Any]]":
        """The facts of every living member, the root first."""
        stats = self._refresh()
        order = sorted(stats, key=lambda p: (p != self.root, p))
        return [self._look_at(pid).facts(stats[pid], self._files) for pid in order]

    def close(self) -> None:
        """Closes the files of the members; a later look opens them again."""
        self._files.keep(())

    def living(self) -> "dict[int, int]":
        """pid -> start time of the members that are alive and no zombies."""
        return {p: s.ticks for p, s in self._refresh(is_thorough=True).items() if s.state != "Z"}

    def _refresh(self, *, is_thorough: bool = False) -> "dict[int, Stat]":
        stats = {}  # type: dict[int, Stat]
        for pid, ticks in list(self.members.items()):
            stat = self._look_at(pid).stat(self._files)
            if stat is None or stat.ticks != ticks or stat.state == "X":
                del self.members[pid], self._looks[pid]
            else:
                stats[pid] = stat
        last_pid = (read_bytes("/proc/loadavg", 256) or b"").rpartition(b" ")[2]
        if is_thorough or not last_pid or last_pid != self._last_pid:  # else nobody was born
            self._add_children(stats)
            self._add_hidden(stats, is_thorough=is_thorough)
        self._last_pid = last_pid
        self.members = {pid: stat.ticks for pid, stat in stats.items()}
        self._files.keep({self.keeper, *stats})
        for pid in [pid for pid in self._looks if pid not in stats]:
            del self._looks[pid]
        return stats

    def _add_children(self, stats: "dict[int, Stat]") -> None:
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

    def _add_hidden(self, stats: "dict[int, Stat]", *, is_thorough: bool) -> None:
        """Adds children that no children file names, if it is time to look for such."""
        now = time.monotonic()
        every_s = _LIST_S if now - self._hidden < _LATELY_S else _SELDOM_S
        if not is_thorough and self._listed is not None and now - self._listed < every_s:
            return
        self._listed = now
        known = len(stats)
        self._add_listed(stats)
        if len(stats) > known:
            self._hidden = now

    def _look_at(self, pid: int) -> Look:
        return self._looks.setdefault(pid, Look(pid))

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
