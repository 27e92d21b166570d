"""The files beside a log that a rotator made of it: moved, copied, or in between."""

import os
import re

from firedup.host.agent.file import open_regular
from firedup.host.agent.system import AgentError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Container

PACKED = (b"\x1f\x8b", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd", b"BZh")  # gzip, xz, zstd, bzip2
HEAD_BYTES = 256
_NUMBER = re.compile(r"\.(\d{1,3})(?:\.\w+)?$")  # not a date


def identity_of(found: "os.stat_result") -> "tuple[int, int]":
    """What tells one file from another, whatever its name."""
    return (found.st_dev, found.st_ino)


def list_siblings(path: str) -> "list[tuple[str, os.stat_result]]":
    """The regular files beside a log whose names begin as its name does, oldest change first.

    Of two that were changed within one tick of the file system's clock, that with the higher number
    in its name (server.log.2) is the older one.
    """
    folder, name = os.path.split(os.path.realpath(path))
    stem = name.split(".")[0] or name
    found = []
    try:
        entries = [e for e in os.scandir(folder) if e.name.startswith(stem) and e.name != name]
    except OSError:
        return []
    for entry in entries:
        try:
            if entry.is_file():
                found.append((entry.path, entry.stat()))
        except OSError:  # gone since
            continue
    return sorted(found, key=lambda f: (f[1].st_mtime_ns, -(_number_of(f[0]) or 0), f[1].st_ino))


def _number_of(path: str) -> "int | None":
    found = _NUMBER.search(path)
    return int(found.group(1)) if found else None


def find_moved(path: str, identity: "tuple[int, int]") -> "str | None":
    """Where the very file is now that had the log's name."""
    for sibling, found in list_siblings(path):
        if identity_of(found) == identity:
            return sibling
    return None


def find_copy(path: str, identity: "tuple[int, int]", offset: int, tail: bytes) -> "str | None":
    """A newer copy of a log that was truncated: it holds what stood before our offset."""
    for sibling, found in reversed(list_siblings(path)):
        if identity_of(found) == identity or found.st_size < offset:
            continue
        file = open_quietly(sibling)
        if file >= 0:
            past = os.pread(file, len(tail), offset - len(tail))
            os.close(file)
            if past == tail:
                return sibling
    return None


def open_next(
    path: str, old: int, known: "dict[tuple[int, int], bytes]", heads: "list[bytes]"
) -> int:
    """The open file that comes after `old`: the log, or one that was moved away before it.

    -1 when there is no log by now. What had its name first is opened first, so that whatever was
    moved away before is seen by a list that is made then.
    """
    try:
        new = open_regular(path)
    except (FileNotFoundError, NotADirectoryError):
        return -1
    between = open_between(path, old, known, heads)
    if between < 0:
        return new
    try:
        is_named = identity_of(os.stat(path)) == identity_of(os.fstat(new))
    except OSError:
        is_named = False
    is_first = os.fstat(new).st_mtime_ns <= os.fstat(between).st_mtime_ns
    loser = between if is_first and not is_named else new
    os.close(loser)
    return new if loser == between else between


def open_between(
    path: str, old: int, known: "dict[tuple[int, int], bytes]", heads: "list[bytes]"
) -> int:
    """Opens the oldest log that is later than `old` and was itself moved away since, or -1.

    Only names that continue the log's own (server.log.2, server.log-20261129) are trusted, and
    neither packed files nor copies: of `old`, or of what began with `heads`. Those are added to
    `known`: what was read already, and how it begins, for inodes are used again.
    """
    found_old = os.fstat(old)
    old_head = os.pread(old, HEAD_BYTES, 0)
    name = os.path.basename(os.path.realpath(path))
    old_name = find_moved(path, identity_of(found_old)) or path
    first = -1
    for sibling, found in list_siblings(path):
        identity = identity_of(found)
        is_named = os.path.basename(sibling).startswith((name + ".", name + "-", name + "_"))
        if not is_named or not found.st_size or not _is_later(sibling, found, old_name, found_old):
            continue
        file = open_quietly(sibling)
        if file < 0:
            continue
        begin = os.pread(file, HEAD_BYTES, 0)
        is_known = identity in known and begin.startswith(known[identity])
        if is_known or identity_of(os.fstat(file)) != identity:  # renamed since
            os.close(file)
        elif begin.startswith(PACKED) or _is_copy(begin, old_head, heads):
            known[identity] = begin
            os.close(file)
        elif first < 0:
            first = file
        else:
            os.close(file)
    return first


def _is_later(
    path: str, found: "os.stat_result", old_path: str, found_old: "os.stat_result"
) -> bool:
    """Whether a file may have been the log after the old one; in one tick their numbers tell."""
    number, old_number = _number_of(path), _number_of(old_path)
    if found.st_mtime_ns == found_old.st_mtime_ns and number and old_number:
        return number < old_number
    return found.st_mtime_ns >= found_old.st_mtime_ns


def open_quietly(path: str) -> int:
    """A descriptor, or -1 when there is no such file or it may not be read."""
    try:
        return open_regular(path)
    except (AgentError, OSError):  # gone, or not ours to read
        return -1


def _is_copy(begin: bytes, old_head: bytes, heads: "list[bytes]") -> bool:
    """Whether a file that begins so is a copy; short logs may begin alike by chance."""
    if old_head and begin.startswith(old_head):
        return True
    alike = [head for head in heads if head and begin.startswith(head)]
    return any(len(head) == HEAD_BYTES or len(begin) < HEAD_BYTES for head in alike)


class Queue:
    """Files that have the log's name while the reader gives no credit: none goes unnoticed."""

    def __init__(self) -> None:
        self._sizes = {}  # type: dict[tuple[int, int], int]
        self._lost = 0

    def note(self, path: str, present: "tuple[int, int] | None") -> None:
        """Remembers what has the name now, unless that is the `present` file."""
        try:
            there = os.stat(path)
        except OSError:
            return
        identity = identity_of(there)
        before = self._sizes.get(identity, 0)
        if identity != present and (there.st_size > 0 or before):
            self._lost += before if there.st_size < before else 0
            self._sizes[identity] = there.st_size

    def count_lost(self, path: str, known: "Container[tuple[int, int]]") -> int:
        """The bytes of those that are gone and were none of the `known` files, told once."""
        there = {identity_of(found) for _, found in list_siblings(path)}
        try:
            there.add(identity_of(os.stat(path)))
        except OSError:
            pass
        for identity, size in list(self._sizes.items()):
            if identity in known or identity not in there:
                self._lost += 0 if identity in known else size
                del self._sizes[identity]
        lost, self._lost = self._lost, 0
        return lost
