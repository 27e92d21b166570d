"""What the kernel says meanwhile about the server's processes, where its log may be read."""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterable

_RECORD_BYTES = 8192
_MOST_RECORDS = 5000  # of one look; what is older than those is given up
_MOST_LINES = 20
_KILLED = "Killed process"
_OF_A_PROCESS = (_KILLED, "segfault at", "blocked for more than", "traps:")
_OF_THE_HOST = ("NVRM: Xid", "fallen off the bus")


class KernelLog:
    """Reads on from where it was opened; costs nothing between two looks."""

    def __init__(self) -> None:
        self.lines = []  # type: list[str]  # all that was found so far
        try:
            self._file = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            os.lseek(self._file, 0, os.SEEK_END)
        except OSError:  # a container's, or somebody's who may not
            self._file = -1

    def look(self, processes: "Iterable[dict[str, Any]]") -> "list[str]":
        """The new lines about these processes or about GPUs."""
        if self._file < 0:
            return []
        names = {process["pid"]: process["name"] for process in processes}
        found = []
        for _ in range(_MOST_RECORDS):
            try:
                record = os.read(self._file, _RECORD_BYTES)
            except BlockingIOError:
                break
            except BrokenPipeError:  # overwritten before it was read; the next one is the oldest
                continue
            except OSError:
                break
            _, _, text = record.partition(b";")
            line = text.split(b"\n", 1)[0].decode("utf-8", "replace")
            if is_about(line, names):
                found.append(line[:500])
        self.lines = (self.lines + found)[-_MOST_LINES:]
        return found[-_MOST_LINES:]

    def tells_oom_kill(self) -> bool:
        """Whether any of the lines says that the kernel killed one for want of memory."""
        return any(_KILLED in line for line in self.lines)


def is_about(line: str, names: "dict[int, str]") -> bool:
    """Whether a line tells of a GPU, or of a process by number and name.

    The kernel counts processes its own way: in a container the number alone may be another's.
    """
    if any(words in line for words in _OF_THE_HOST):
        return True
    if not any(words in line for words in _OF_A_PROCESS):
        return False
    for mark in ":[](),":
        line = line.replace(mark, " ")
    words = line.split()
    return any(
        str(pid) in words and name.split()[:1] and name.split()[0] in line
        for pid, name in names.items()
    )
