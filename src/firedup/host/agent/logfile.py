"""Files that are or were a log: what tells them apart, and their bytes under any name."""

import binascii
import errno
import os
import stat as modes

from firedup.host.agent.file import Read
from firedup.host.agent.sibling import (
    PACKED,
    find_moved,
    identity_of,
    list_siblings,
    open_quietly,
)
from firedup.host.agent.system import AgentError, boottime_ns, wall_ns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MARK_BYTES = 256
_FILES_LIMIT = 500  # beside one log; the newest count
_SIZES_LIMIT = 1000


def open_log(path: str) -> int:
    """Opens a server's log for writing at its end, made (0600) where missing; else an OSError.

    Only a regular file or the null device will do. What else is there is not even opened, since a
    pipe would wait for its reader and a device may act on it.
    """
    try:
        _refuse_odd(os.stat(path))
    except FileNotFoundError:
        pass
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK
    file = os.open(path, flags, 0o600)
    try:
        _refuse_odd(os.fstat(file))  # it may have been put there meanwhile
        os.set_blocking(file, True)
    except OSError:
        os.close(file)
        raise
    return file


def _refuse_odd(found: "os.stat_result") -> None:
    mode = found.st_mode
    is_null = modes.S_ISCHR(mode) and found.st_rdev == os.stat(os.devnull).st_rdev
    if modes.S_ISDIR(mode) or modes.S_ISREG(mode) or is_null:  # a folder fails to be opened
        return
    raise OSError(errno.EINVAL, "It is a pipe or a device, and a log must be a file")


class LogMarks:
    """What samples say of one log, each compared with the one before."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._turn = 0
        self._last = {}  # type: dict[str, Any]

    def look(self, pid: int) -> "dict[str, Any]":
        """The facts of `mark_log`, and `log_turn`.

        That counts up whenever the log does not hold any more what it held at the last look: it
        is another file, or shorter, or other bytes stand before the offset that was its end then.
        """
        last = self._last
        facts = mark_log(self.path, pid, last)
        before = facts.pop("before", None)
        if last and facts["log_size"] >= 0:
            own, earlier = (_identity(one) for one in (facts, last))
            has_turned = earlier != own or facts["log_size"] < last["log_size"]
            if not has_turned and None not in (before, last["log_tail"]):
                has_turned = before != last["log_tail"]
            self._turn += has_turned
        if "log_dev" in facts:
            self._last = facts
        return dict(facts, log_turn=self._turn)


def _identity(facts: "dict[str, Any]") -> "tuple[Any, Any]":
    return facts.get("log_dev"), facts.get("log_ino")


def mark_log(path: str, pid: int, last: "dict[str, Any]") -> "dict[str, Any]":
    """What a sample says of the log: how long it is, which file it is, and marks of its content.

    While the log is not there, or empty, the file counts that the process still writes to as its
    output, when that was the log at the `last` look. `log_head` and `log_tail` are the CRC-32 of
    its first and of its last 256 bytes, `before` that of the 256 before its last end, if it has so
    many bytes.
    """
    found = _stat_regular(path)
    if found is None or found.st_size == 0:
        link = find_held(path, pid)
        held = _stat_regular(link) if link is not None else None
        was_log = held is not None and _identity(last) in ((None, None), identity_of(held))
        if link is not None and was_log:
            path, found = link, held
    known = last.get("log_size", 0)
    if found is None:
        return {"log_size": _size_of(path)}
    head = tail = before = None
    file = open_quietly(path)
    if file >= 0:
        try:
            found = os.fstat(file)
            head = _mark(file, min(_MARK_BYTES, found.st_size))
            tail = _mark(file, found.st_size)
            before = _mark(file, known) if 0 < known <= found.st_size else None
        except OSError:  # a disk or a network file system that fails; a keeper goes on
            head = tail = before = None
        finally:
            os.close(file)
    facts = {
        "log_size": found.st_size,
        "log_dev": found.st_dev,
        "log_ino": found.st_ino,
        "log_head": head,
        "log_tail": tail,
    }
    return dict(facts, before=before) if before is not None else facts


def _size_of(path: str) -> int:
    """Of what is no regular file; -1 without any."""
    try:
        return os.stat(path).st_size
    except OSError:
        return -1


def _stat_regular(path: str) -> "os.stat_result | None":
    """None also for a pipe, which must not even be opened: its writer would see a reader leave."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found if modes.S_ISREG(found.st_mode) else None


def _mark(file: int, end: int) -> "int | None":
    """CRC-32 of the up to 256 bytes before `end`; None when they are not all there."""
    length = min(_MARK_BYTES, end)
    data = os.pread(file, length, end - length)
    return binascii.crc32(data) if len(data) == length else None


def find_held(path: str, pid: int) -> "str | None":
    """A path to the file that was the log and that the process has as its output, or None.

    It works also when the file has no name any more.
    """
    link = f"/proc/{pid}/fd/1"
    try:
        name = os.readlink(link) if pid > 0 else ""
    except OSError:
        return None
    folder, own = os.path.split(os.path.realpath(path))
    stem = own.split(".")[0] or own
    is_ours = os.path.dirname(name) == folder and os.path.basename(name).startswith(stem)
    return link if is_ours and _stat_regular(link) is not None else None


def op_log_files(args: "dict[str, Any]", _work: "Any" = None) -> "dict[str, Any]":
    """log_files {path, sizes?, pid?}: the log, and the files beside it that may have been it.

    `tails` has for each of `sizes` that the file reaches the CRC-32 of the 256 bytes before it.
    """
    path = os.path.join(os.path.expanduser("~"), os.path.expanduser(args["path"]))
    sizes = [int(size) for size in args.get("sizes") or []][:_SIZES_LIMIT]
    held = find_held(path, int(args.get("pid") or 0))
    candidates = [sibling for sibling, _ in list_siblings(path)][-_FILES_LIMIT:]
    found = []  # type: list[dict[str, Any]]
    known = set()  # type: set[tuple[int, int]]
    for candidate in [path, *candidates] + ([held] if held is not None else []):
        if _stat_regular(candidate) is None:
            continue
        file = open_quietly(candidate)
        if file < 0:
            continue
        try:
            facts = _describe_log(file, candidate, sizes)
        finally:
            os.close(file)
        if (facts["dev"], facts["ino"]) not in known:
            known.add((facts["dev"], facts["ino"]))
            found.append(dict(facts, is_log=candidate == path))
    return {"files": found, "at_ns": boottime_ns(), "wall_ns": wall_ns()}


def _describe_log(file: int, path: str, sizes: "list[int]") -> "dict[str, Any]":
    found = os.fstat(file)
    tails = {}
    for size in sizes:
        mark = _mark(file, size) if 0 < size <= found.st_size else None
        if mark is not None:
            tails[str(size)] = mark
    return {
        "path": path,
        "dev": found.st_dev,
        "ino": found.st_ino,
        "size": found.st_size,
        "modified_wall_ns": found.st_mtime_ns,
        "is_packed": os.pread(file, 8, 0).startswith(PACKED),
        "head": _mark(file, min(_MARK_BYTES, found.st_size)),
        "tail": _mark(file, found.st_size),
        "tails": tails,
    }


def open_again(path: str, identity: "tuple[int, int]", pid: int) -> int:
    """The file that was the log, under its new name or without any; -1 when it is gone."""
    for place in (find_moved(path, identity), find_held(path, pid)):
        file = open_quietly(place) if place is not None else -1
        if file >= 0 and identity_of(os.fstat(file)) == identity:
            return file
        if file >= 0:
            os.close(file)
    return -1


class ReadLog(Read):
    """read_log {path, dev, ino, pid?, offset?, length?}: as `read`, by whatever name it has now.

    Error `not-found` when it is neither at `path` nor beside it.
    """

    def find(self) -> int:
        """Opens exactly that file; a rotator may rename it between any two looks."""
        args = self.args
        identity = (int(args["dev"]), int(args["ino"]))
        for _ in range(3):
            file = open_quietly(args["path"])
            if file >= 0 and identity_of(os.fstat(file)) == identity:
                return file
            if file >= 0:
                os.close(file)
            file = open_again(args["path"], identity, int(args.get("pid") or 0))
            if file >= 0:
                return file
        raise AgentError("not-found", f"{args['path']}: the file that it was is gone")
