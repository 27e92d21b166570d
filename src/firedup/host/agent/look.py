"""What one process of a tree is and has done so far, read again and again at little cost."""

import os
import resource

from firedup.host.agent.system import read_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Container

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = resource.getpagesize()
_HELD_LIMIT = 48  # processes whose files stay open, five each; a keeper may open 1,024 files
_NAME_BYTES = 15  # of a process's name, which the kernel keeps
_TITLE_BYTES = 256
_STALE_LOOKS = 5  # so often what was read of a process that did nothing is believed


class Stat:
    """The fields of /proc/PID/stat that are used here."""

    __slots__ = (
        "cpu_s", "group", "major_faults", "minor_faults", "name", "parent", "pid", "rss",
        "session", "state", "status", "threads", "ticks",
    )  # fmt: skip

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
        self.minor_faults = int(fields[7])
        self.major_faults = int(fields[9])
        self.cpu_s = (int(fields[11]) + int(fields[12])) / _TICKS
        self.threads = int(fields[17])
        self.ticks = int(fields[19])
        self.rss = int(fields[21]) * _PAGE
        self.status = int(fields[49]) if self.state == "Z" and len(fields) > 49 else 0


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


class Look:
    """One process, from look to look. What cannot have changed is not read again.

    The kernel's line of a process that did nothing since the last look is the same to the letter.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._line = None  # type: bytes | None
        self._stat = None  # type: Stat | None
        self._facts = {}  # type: dict[str, Any]
        self._seen = None  # type: Stat | None  # what `_facts` tell of
        self._age = 0

    def stat(self, files: Files) -> "Stat | None":
        """How it is now; None when it is gone."""
        line = files.read(self._pid, "stat")
        if not line:
            return None
        if self._stat is None or line != self._line:
            self._line, self._stat = line, Stat(line)
        return self._stat

    def facts(self, stat: Stat, files: Files) -> "dict[str, Any]":
        """What a sample says of it; `stat` is how it is now."""
        seen = self._seen
        self._age += 1
        if seen is stat and self._age < _STALE_LOOKS and stat.state == "S":
            return self._facts
        before = self._facts
        read = write = None
        # rchar, wchar, syscr, syscw, read_bytes, write_bytes: a name and a number each
        counts = (files.read(stat.pid, "io") or b"").split()
        if len(counts) >= 12:
            # rchar counts what mmap does not show and the page cache serves; disks count the rest.
            read, write = max(int(counts[1]), int(counts[9])), int(counts[11])
        facts = {
            "pid": stat.pid,
            "start_ticks": stat.ticks,
            "parent": stat.parent,
            "name": stat.name,
            "state": stat.state,
            "cpu_s": stat.cpu_s,
            "rss_bytes": stat.rss,
            "read_bytes": read,
            "write_bytes": write,
            "minor_faults": stat.minor_faults,
            "threads": stat.threads,
        }  # type: dict[str, Any]
        place = (files.read(stat.pid, "wchan") or b"").decode("ascii", "replace")
        if place not in ("", "0"):
            facts["wait_channel"] = place
        if stat.major_faults:
            facts["major_faults"] = stat.major_faults
        if seen is not None and seen.rss == stat.rss:
            shared = before.get("shared_bytes", 0)
        else:
            shared = self._read_shared(files)
        if shared:
            facts["shared_bytes"] = shared
        is_same = seen is not None and seen.name == stat.name
        title = before.get("title") if is_same else read_title(stat.pid, stat.name)
        if title is not None:
            facts["title"] = title
        if stat.status:  # 0 also where the kernel does not tell
            facts["wait_status"] = stat.status
        self._facts, self._seen, self._age = facts, stat, 0
        return facts

    def _read_shared(self, files: Files) -> int:
        """Resident bytes of files and shared memory: size, resident, shared, … in pages."""
        words = (files.read(self._pid, "statm") or b"").split()
        return int(words[2]) * _PAGE if len(words) > 2 else 0


def read_title(pid: int, name: str) -> "str | None":
    """The title that a program gave itself, where it is longer than a name may be."""
    if len(name.encode("utf-8", "replace")) < _NAME_BYTES:
        return None
    line = read_bytes(f"/proc/{pid}/cmdline", _TITLE_BYTES) or b""
    title = line.split(b"\0", 1)[0].decode("utf-8", "replace").strip()
    return title if title.startswith(name) and title != name else None
