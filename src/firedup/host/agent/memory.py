"""Memory, control group and shared memory: what there is, and whether the kernel killed."""

import os

from firedup.host.agent.system import boottime_ns, read_bytes, read_whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_ROOT = "/sys/fs/cgroup"
_NO_LIMIT = 1 << 60  # version 1 writes "no limit" as a number beyond any machine


def memory_available() -> "int | None":
    """Bytes the host could still give out, page cache included."""
    for line in (read_bytes("/proc/meminfo", 4096) or b"").splitlines():
        if line.startswith(b"MemAvailable:"):
            return int(line.split()[1]) * 1024
    return None


class Group:
    """The memory control group of a process: version 2, version 1 or none."""

    def __init__(self, pid: "int | str" = "self") -> None:
        self.version = None  # type: int | None
        self.folders = []  # type: list[str]  # from the process's own group up to the root
        one = two = None
        for line in (read_whole(f"/proc/{pid}/cgroup") or b"").decode("utf-8", "replace").split():
            _, _, rest = line.partition(":")
            controllers, _, path = rest.partition(":")
            if controllers == "":
                two = path
            elif "memory" in controllers.split(","):
                one = path
        if one is not None:
            self._find(1, os.path.join(_ROOT, "memory"), one, "memory.usage_in_bytes")
        if not self.folders and two is not None:
            self._find(2, _ROOT, two, "memory.current")

    def _find(self, version: int, root: str, path: str, probe: str) -> None:
        # Inside a container the path may be the host's, which is not visible here.
        folder = os.path.normpath(os.path.join(root, path.lstrip("/")))
        while folder.startswith(root):
            if os.path.exists(os.path.join(folder, probe)):
                self.folders.append(folder)
            folder = os.path.dirname(folder)
        if self.folders:
            self.version = version

    def oom_kills(self) -> "int | None":
        """How many processes the kernel killed here for want of memory; None when unknown."""
        if not self.folders:
            return None
        name = "memory.events" if self.version == 2 else "memory.oom_control"
        return self._read_field(name, b"oom_kill ")

    def memory(self) -> "dict[str, Any] | None":
        """Bytes used, the own limit, and how often that was run into; None without a group.

        Page cache counts as used, and is dropped before the limit hurts.
        """
        if not self.folders:
            return None
        names = ("memory.usage_in_bytes", "memory.limit_in_bytes")
        if self.version == 2:
            names = ("memory.current", "memory.max")
        used, limit = (self._read_number(name) for name in names)
        if used is None:
            return None
        found = {"used_bytes": used}
        if limit is not None and limit < _NO_LIMIT:
            found["limit_bytes"] = limit
        if self.version == 2:
            events = self._read_field("memory.events", b"max ")
        else:
            events = self._read_number("memory.failcnt")
        if events:
            found["limit_events"] = events
        return found

    def _read_number(self, name: str) -> "int | None":
        word = (read_bytes(os.path.join(self.folders[0], name), 64) or b"").strip()
        return int(word) if word.isdigit() else None

    def _read_field(self, name: str, key: bytes) -> "int | None":
        for line in (read_bytes(os.path.join(self.folders[0], name)) or b"").splitlines():
            if line.startswith(key):
                return int(line.split()[1])
        return None

    def facts(self) -> "dict[str, Any]":
        """Limit (the tightest up to the root), usage, and the part of it that can be dropped."""
        limit = usage = cache = None
        names = {1: ("memory.limit_in_bytes", "memory.usage_in_bytes", b"total_inactive_file ")}
        names[2] = ("memory.max", "memory.current", b"inactive_file ")
        for folder in self.folders:
            limit_name, usage_name, cache_name = names[self.version or 2]
            word = (read_bytes(os.path.join(folder, limit_name)) or b"").strip()
            if not word.isdigit() or int(word) >= _NO_LIMIT:
                continue
            if limit is None or int(word) < limit:
                limit = int(word)
                usage = int(read_bytes(os.path.join(folder, usage_name)) or 0)
                for line in (read_bytes(os.path.join(folder, "memory.stat")) or b"").splitlines():
                    if line.startswith(cache_name):
                        cache = int(line.split()[1])
        return {
            "version": self.version,
            "limit_bytes": limit,
            "usage_bytes": usage,
            "inactive_file_bytes": cache,
            "oom_kills": self.oom_kills(),
        }


def host_oom_kills() -> "int | None":
    """The kernel's count over the whole host; when it stands still nobody was killed."""
    for line in (read_bytes("/proc/vmstat") or b"").splitlines():
        if line.startswith(b"oom_kill "):
            return int(line.split()[1])
    return None


def op_memory(args: "dict[str, Any]") -> "dict[str, Any]":
    """memory {pid?}: the host, the control group of `pid` (default: the agent's), /dev/shm."""
    facts = {}  # type: dict[str, Any]
    wanted = {b"MemTotal": "total_bytes", b"MemAvailable": "available_bytes"}
    wanted.update({b"SwapTotal": "swap_total_bytes", b"SwapFree": "swap_free_bytes"})
    for line in (read_bytes("/proc/meminfo") or b"").splitlines():
        key, _, rest = line.partition(b":")
        if key in wanted:
            facts[wanted[key]] = int(rest.split()[0]) * 1024
    facts["at_ns"] = boottime_ns()
    facts["oom_kills"] = host_oom_kills()
    facts["cgroup"] = Group(args.get("pid") or "self").facts()
    facts["processors"] = len(os.sched_getaffinity(0))
    try:
        shm = os.statvfs("/dev/shm")  # noqa: S108 - asked about, not written
    except OSError:
        facts["shm"] = None
    else:
        free, total = shm.f_bavail * shm.f_frsize, shm.f_blocks * shm.f_frsize
        facts["shm"] = {"free_bytes": free, "total_bytes": total}
    return facts
