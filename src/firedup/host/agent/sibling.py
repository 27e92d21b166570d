"""The files beside a log that a rotator made of it: moved, copied, or in between."""

import os

from firedup.host.agent.file import open_regular
from firedup.host.agent.system import AgentError

PACKED = (b"\x1f\x8b", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd", b"BZh")  # gzip, xz, zstd, bzip2
_HEAD_BYTES = 256


def identity_of(found: "os.stat_result") -> "tuple[int, int]":
    """What tells one file from another, whatever its name."""
    return (found.st_dev, found.st_ino)


def list_siblings(path: str) -> "list[tuple[str, os.stat_result]]":
    """The regular files beside a log whose names begin as its name does, oldest change first."""
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
    return sorted(found, key=lambda f: (f[1].st_mtime_ns, f[1].st_ino))


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


def open_next(path: str, new: int, old: int, known: "set[tuple[int, int]]") -> int:
    """The open file that comes after `old`: `new`, or one that was moved away before it.

    `new` is what had the log's name a moment ago, so that whatever was moved away before is seen
    by a list that is made now; it is closed when another one comes first.
    """
    between = _open_between(path, old, known)
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


def _open_between(path: str, old: int, known: "set[tuple[int, int]]") -> int:
    """Opens the oldest log that is later than `old` and was itself moved away since, or -1.

    Only names that continue the log's own (server.log.2, server.log-20261129) are trusted, and
    neither packed files nor copies of `old`, which are added to `known`.
    """
    found_old = os.fstat(old)
    head = os.pread(old, _HEAD_BYTES, 0)
    name = os.path.basename(os.path.realpath(path))
    first = -1
    for sibling, found in list_siblings(path):
        identity = identity_of(found)
        is_named = os.path.basename(sibling).startswith((name + ".", name + "-", name + "_"))
        is_later = found.st_mtime_ns >= found_old.st_mtime_ns and found.st_size > 0
        if not is_named or not is_later or identity in known:
            continue
        file = open_quietly(sibling)
        if file < 0:
            continue
        begin = os.pread(file, _HEAD_BYTES, 0)
        if identity_of(os.fstat(file)) != identity:  # renamed since
            os.close(file)
        elif begin.startswith(PACKED) or begin[: len(head)] == head:
            known.add(identity)
            os.close(file)
        elif first < 0:
            first = file
        else:
            os.close(file)
    return first


def open_quietly(path: str) -> int:
    """A descriptor, or -1 when there is no such file or it may not be read."""
    try:
        return open_regular(path)
    except (AgentError, OSError):  # gone, or not ours to read
        return -1
