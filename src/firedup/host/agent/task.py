"""What the kernel tells of a process at one moment: its state, and where each thread waits."""

import os

from firedup.host.agent.look import Stat
from firedup.host.agent.system import read_bytes, read_whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MOST_THREADS = 256  # that are looked at; a server's process may have thousands
_NAMED_THREADS = 8  # of those that wait at the same place
_KERNEL_BYTES = 16384
_TRACE_BYTES = 8192


def see_process(pid: int) -> "dict[str, Any] | None":
    """pid, starttime, title (its name), state, wchan and `kernel`, the view of its threads as text.

    None when there is no such process. Nothing of this waits for the process itself.
    """
    line = read_bytes(f"/proc/{pid}/stat", 4096)
    if not line:
        return None
    stat = Stat(line)
    return {
        "pid": pid,
        "starttime": stat.ticks,
        "title": stat.name,
        "state": stat.state,
        "wchan": _read_channel(f"/proc/{pid}"),
        "kernel": see_threads(pid),
    }


def see_threads(pid: int) -> str:
    """State, wait channel, system call and stack of each thread, those alike together.

    The main thread comes first. Stacks are the superuser's to read, system calls and channels
    those of whoever may trace the process.
    """
    try:
        names = sorted(os.listdir(f"/proc/{pid}/task"), key=lambda name: (name != str(pid), name))
    except OSError:
        return ""
    alike = {}  # type: dict[str, list[str]]
    for name in names[:_MOST_THREADS]:
        view = _see_thread(f"/proc/{pid}/task/{name}")
        if view:
            alike.setdefault(view, []).append(name)
    pieces = []
    for view, found in alike.items():
        more = f" and {len(found) - _NAMED_THREADS} more" if len(found) > _NAMED_THREADS else ""
        threads = " ".join(found[:_NAMED_THREADS])
        pieces.append(f"thread{'s' if len(found) > 1 else ''} {threads}{more} {view}")
    if len(names) > _MOST_THREADS:
        pieces.append(f"{len(names) - _MOST_THREADS} more threads were not looked at\n")
    return "".join(pieces)[:_KERNEL_BYTES]


def _see_thread(folder: str) -> str:
    """Name, state, channel and system call in a line, then its stack, a line for each function."""
    line = read_bytes(f"{folder}/stat", 4096)
    if not line:
        return ""
    stat = Stat(line)
    facts = [f"state {stat.state}"]
    place = _read_channel(folder)
    if place:
        facts.append(f"in {place}")
    words = (read_bytes(f"{folder}/syscall", 256) or b"").split()
    if words and words[0].isdigit():
        facts.append(f"system call {int(words[0])}")
    trace = (read_bytes(f"{folder}/stack", _TRACE_BYTES) or b"").decode("ascii", "replace")
    lines = [f"({stat.name}): {', '.join(facts)}"] + [row for row in trace.split("\n") if row]
    return "\n".join(lines) + "\n"


def _read_channel(folder: str) -> str:
    """The function of the kernel in which a thread waits, empty where that is not told."""
    place = (read_bytes(f"{folder}/wchan", 256) or b"").decode("ascii", "replace").strip()
    return "" if place == "0" else place


def read_status(pid: int) -> "dict[str, str]":
    """The fields of /proc/PID/status, empty when there is no such process."""
    text = (read_whole(f"/proc/{pid}/status") or b"").decode("utf-8", "replace")
    return dict(line.split(":\t", 1) for line in text.split("\n") if ":\t" in line)
