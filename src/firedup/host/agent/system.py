"""Errors, clocks and small readers that every part of the agent uses."""

import errno
import os
import time

TYPE_CHECKING = False  # the typing module costs memory on the host; checkers read this as true
if TYPE_CHECKING:
    from typing import Any

_CLOCK_BOOTTIME = 7  # time.CLOCK_BOOTTIME came with Python 3.7
_CODES = {
    errno.ENOENT: "not-found",
    errno.ENOTDIR: "not-found",
    errno.EACCES: "denied",
    errno.EPERM: "denied",
    errno.EROFS: "denied",
    errno.EEXIST: "exists",
    errno.ENOSPC: "no-space",
    errno.EDQUOT: "no-space",
    errno.ESRCH: "gone",
    errno.EISDIR: "not-a-file",
}


class AgentError(Exception):
    """A request that could not be fulfilled: a short code, what it means, and what was seen."""

    def __init__(self, code: str, what: str, evidence: "str | None" = None) -> None:
        super().__init__(what)
        self.code = code
        self.what = what
        self.evidence = evidence


def describe_os_error(error: OSError) -> AgentError:
    """The agent's error for an operating-system error, with its path."""
    code = _CODES.get(error.errno or 0, "os-error")
    text = error.strerror or str(error)
    what = f"{error.filename}: {text}" if error.filename else text
    name = errno.errorcode.get(error.errno or 0, "")
    return AgentError(code, str(what), name or None)


def describe_error(error: BaseException) -> "dict[str, Any]":
    """What an END frame carries when a request failed."""
    if isinstance(error, OSError):
        error = describe_os_error(error)
    if isinstance(error, AgentError):
        return {"error": {"code": error.code, "what": error.what, "evidence": error.evidence}}
    if isinstance(error, KeyError):
        what = f"the request lacks {error.args[0]!r}"
        return {"error": {"code": "bad-request", "what": what, "evidence": None}}
    if isinstance(error, (TypeError, ValueError)):
        what = "the request has a wrong argument"
    else:
        what = "the agent failed"
    import traceback

    lines = traceback.format_exception(type(error), error, error.__traceback__)
    code = "bad-request" if what.startswith("the request") else "fault"
    return {"error": {"code": code, "what": what, "evidence": "".join(lines)[-4000:]}}


def boottime_ns() -> int:
    """Nanoseconds since the host booted, sleep included."""
    if hasattr(time, "clock_gettime_ns"):
        return time.clock_gettime_ns(_CLOCK_BOOTTIME)
    return int(time.clock_gettime(_CLOCK_BOOTTIME) * 1e9)


def wall_ns() -> int:
    """Nanoseconds since the epoch by the host's wall clock."""
    if hasattr(time, "time_ns"):
        return time.time_ns()
    return int(time.time() * 1e9)


def read_bytes(path: str, limit: int = 65536) -> "bytes | None":
    """The first `limit` bytes of a small file (such as one in /proc), None where unreadable."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return os.read(file, limit)
    except OSError:
        return None
    finally:
        os.close(file)


def read_whole(path: str) -> "bytes | None":
    """All bytes of a file in /proc that may be long, None where unreadable."""
    try:
        with open(path, "rb", 0) as file:
            return file.read()
    except OSError:
        return None


def boot_id() -> str:
    """The kernel's name for this boot of the host."""
    return (read_bytes("/proc/sys/kernel/random/boot_id") or b"").decode("ascii").strip()


def load_libc() -> "Any":
    """The C library through ctypes, loaded only where Python has no call of its own."""
    import ctypes

    return ctypes.CDLL(None, use_errno=True)


def give_memory_back() -> None:
    """Returns what compiling this program took to the system, where the C library can."""
    libc = load_libc()
    if hasattr(libc, "malloc_trim"):
        libc.malloc_trim(0)


def write_atomically(path: str, data: bytes, mode: int = 0o600) -> None:
    """Replaces `path` so that a reader sees the old content or the new, never a part."""
    temporary = f"{path}.{os.getpid()}.new"
    file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, mode)
    try:
        try:
            write_all(file, data)
            os.fsync(file)
        finally:
            os.close(file)
        os.rename(temporary, path)
    except OSError:
        os.unlink(temporary)
        raise


def write_all(file: int, data: bytes) -> None:
    """Writes every byte to a blocking file descriptor."""
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]


def state_folder() -> str:
    """Where firedup keeps its state on this host."""
    base = os.environ.get("XDG_STATE_HOME") or ""
    if not os.path.isabs(base):
        base = os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(base, "firedup")


def runs_folder() -> str:
    """Where the run folders are on this host."""
    return os.path.join(state_folder(), "runs")


def arming_folder(run_id: str) -> str:
    """The folder by which a run's Python processes are armed: the first of their PYTHONPATH."""
    return os.path.join(runs_folder(), run_id, "armed")
