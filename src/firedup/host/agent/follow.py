"""Follows a log byte by byte through rotation, truncation, deletion and late birth."""

import binascii
import collections
import os
import time

from firedup.host.agent.file import open_regular
from firedup.host.agent.inotify import Noticing
from firedup.host.agent.logfile import find_held
from firedup.host.agent.sibling import (
    find_copy,
    find_moved,
    identity_of,
    open_next,
    open_quietly,
)
from firedup.host.agent.system import boottime_ns
from firedup.host.agent.wire import DATA, DATA_HEADER, DATA_LIMIT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

TAIL_BYTES = 256  # what must be unchanged before our offset, or it is another log
_SETTLE_S = 3.0  # so long a network file system may show an old size


class Follow(Noticing):
    """follow {path, generation?, offset?, tail?, dev?, ino?, pid?, polls?, settle_s?}.

    `offset` and what describes the file there come from an earlier follow, whose work this goes on
    with; `pid` may hold that file without a name. `polls` takes the file system for a remote one.
    EVENTs: {state, generation, at_ns, dev, ino, size, lost_bytes}; DATA: the bytes. Never ends.
    """

    def open(self) -> None:
        """Finds the file where the earlier follow left it."""
        args = self.args
        self.prepare(args["path"], is_polled=bool(args.get("polls")))
        self.pid = int(args.get("pid") or 0)
        self.settle_s = float(args.get("settle_s", _SETTLE_S))
        self.shrunk_s = None  # type: float | None  # since when it is shorter than it was
        self.generation = int(args.get("generation", 0))
        self.offset = int(args.get("offset", 0))
        self.tail = binascii.a2b_base64(args.get("tail", ""))
        self.identity = None  # type: tuple[int, int] | None
        if args.get("ino") is not None:
            self.identity = (int(args["dev"]), int(args["ino"]))
        self.known = set()  # type: set[tuple[int, int]]  # files that were opened
        self.seen = self.offset  # the largest size known of this generation
        self.is_missing = False
        self.is_detour = False  # reading a rotator's copy of what was truncated
        self.events = collections.deque()  # type: collections.deque[dict[str, Any]]
        self.begin()

    def close(self) -> None:
        """Closes the log and the notices."""
        self.end_notices()
        self._close_file()

    def note_size(self) -> None:
        """While the reader gives no credit: remembers how much there is that may get destroyed."""
        if self.file >= 0 and self.credit <= 0 and not self.is_detour and self._is_same_past():
            self.seen = max(self.seen, os.fstat(self.file).st_size)

    def _is_same_past(self) -> bool:
        past = os.pread(self.file, len(self.tail), self.offset - len(self.tail))
        return past == self.tail

    def produce(self, room: int) -> "tuple[int, bytes] | None":
        """The next event or bytes; None when the log has nothing new."""
        for _ in range(64):  # a rotator cannot keep us here for ever
            if self.events:
                return self.event(self.events.popleft())
            if self.file < 0:
                if not self._find() and not self.arm():
                    break
                continue
            data = self._read(room)
            if data is None:
                continue
            if data:
                self.hurry()
                return DATA, data
            if not self._look() and not self.arm():
                break
        self.rest()
        return None

    def _tell(self, state: str, **facts: "Any") -> None:
        event = {"state": state, "generation": self.generation, "at_ns": boottime_ns()}
        if self.file >= 0 and state != "gap":
            found = os.fstat(self.file)
            event.update(dev=found.st_dev, ino=found.st_ino, size=found.st_size)
        event.update(facts)
        self.events.append(event)

    # ---- reading -----------------------------------------------------------------------------

    def _read(self, room: int) -> "bytes | None":
        """Header and new bytes, nothing at the end of the file, None when it is another now."""
        if not self.tail:
            self._skip_hole()
        before = len(self.tail)
        data = os.pread(self.file, before + min(room, DATA_LIMIT), self.offset - before)
        if data[:before] != self.tail:
            if self._may_come_back():
                return b""
            self._leave_truncated()
            return None
        self.shrunk_s = None
        data = data[before:]
        if not data:
            return b""
        header = DATA_HEADER.pack(boottime_ns(), self.generation, self.offset)
        self.tail = (self.tail + data[-TAIL_BYTES:])[-TAIL_BYTES:]
        self.offset += len(data)
        size = os.fstat(self.file).st_size if len(data) == min(room, DATA_LIMIT) else 0
        self.seen = max(self.seen, self.offset, size)
        return header + data

    def _may_come_back(self) -> bool:
        """Network file systems may show an old size for a while, so it is not believed at once."""
        if not self.is_polled or self.is_detour or os.fstat(self.file).st_size >= self.offset:
            return False
        now = time.monotonic()
        self.shrunk_s = now if self.shrunk_s is None else self.shrunk_s
        return now - self.shrunk_s < self.settle_s

    def _skip_hole(self) -> None:
        """A writer without O_APPEND goes on at its old offset after a truncation."""
        try:
            self.offset = os.lseek(self.file, self.offset, os.SEEK_DATA)
        except OSError:  # at the end, or the file system knows no holes
            pass

    def _look(self) -> bool:
        """At the end of the file: has something happened to it? True means: go on at once."""
        if self.events or self.file < 0:
            return True
        if self.is_detour:
            self._close_file()
            self.is_detour = False
            self._begin_again("truncated")
            return True
        size = os.fstat(self.file).st_size
        if size < self.offset:
            if self._may_come_back():
                return False
            self._leave_truncated()
            return True
        if size > self.offset:
            return True
        try:
            there = os.stat(self.path)
        except OSError:
            if not self.is_missing:
                self.is_missing = True
                self._tell("missing")
            return bool(self.events)
        if identity_of(there) == self.identity:
            if self.is_missing:
                self.is_missing = False
                self._tell("appeared")
            return bool(self.events)
        # Another file took the name. The writer may still use the old one, so that one is read
        # until the new one has content, and once more after that has been seen.
        return there.st_size > 0 and self._move_on()

    def _move_on(self) -> bool:
        """Goes to the file that came after the present one, unless that is not read to its end."""
        try:
            new = open_regular(self.path)
        except (FileNotFoundError, NotADirectoryError):
            return True  # and look again
        new = open_next(self.path, new, self.file, self.known)
        if os.fstat(self.file).st_size > self.offset or identity_of(os.fstat(new)) == self.identity:
            os.close(new)
            return True
        self._close_file()
        self._begin_again("rotated", new)
        return True

    # ---- finding and changing files ----------------------------------------------------------

    def _find(self) -> bool:
        """Opens the log for the first time or after it was missing; False when there is none."""
        try:
            self._hold(open_regular(self.path))
        except (FileNotFoundError, NotADirectoryError):
            self.file = -1
        if self.identity is not None and (self.file < 0 or self.found != self.identity):
            moved = self._open_again(self.identity)
            if moved >= 0:
                self._close_file()
                self._hold(moved)
                self._accept()
                self._tell("opened")
                return True
            if self.file >= 0:
                self._close_file()
                self._tell("gap", lost_bytes=None)
                self._begin_again("rotated")
                return True
        if self.file < 0:
            if not self.is_missing:
                self.is_missing = True
                self._tell("missing")
            return bool(self.events)
        self._accept()
        self._tell("appeared" if self.is_missing else "opened")
        self.is_missing = False
        return True

    def _open_again(self, identity: "tuple[int, int]") -> int:
        """The file that was the log, under its new name or without any; -1 when it is gone."""
        for path in (find_moved(self.path, identity), find_held(self.path, self.pid)):
            file = open_quietly(path) if path is not None else -1
            if file >= 0 and identity_of(os.fstat(file)) == identity:
                return file
            if file >= 0:
                os.close(file)
        return -1

    def _hold(self, file: int) -> None:
        self.file = file
        self.found = identity_of(os.fstat(file))
        self.must_arm = True

    def _accept(self) -> None:
        """The file that is held is the log now."""
        self.identity = self.found
        self.known.add(self.found)

    def _close_file(self) -> None:
        self.must_arm = True
        if self.file >= 0:
            os.close(self.file)
        self.file = -1

    def _begin_again(self, state: str, file: int = -1) -> None:
        """A new generation begins, with the open `file` or the one that has the name now."""
        self.generation += 1
        self.offset = 0
        self.seen = 0
        self.tail = b""
        self.identity = None
        try:
            self._hold(file if file >= 0 else open_regular(self.path))
        except (FileNotFoundError, NotADirectoryError):
            self._tell(state)
            return
        self._accept()
        self.is_missing = False
        self._tell(state)

    def _leave_truncated(self) -> None:
        """The log lost what we had read: its rotator may have kept a copy of what we had not."""
        if self.is_detour:  # the copy changes under us; it is no use
            self._close_file()
            self.is_detour = False
            self._begin_again("truncated")
            return
        copy = None
        if self.tail and self.identity is not None:
            copy = find_copy(self.path, self.identity, self.offset, self.tail)
        self._close_file()
        if copy is not None:
            self._hold(open_regular(copy))
            self.is_detour = True
            return
        if self.seen > self.offset:
            self._tell("gap", lost_bytes=self.seen - self.offset)
        self._begin_again("truncated")
