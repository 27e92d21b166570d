"""Follows a log byte by byte through rotation, truncation, deletion and late birth."""

import collections
import os

from firedup.host.agent.file import open_regular
from firedup.host.agent.logfile import open_again
from firedup.host.agent.mark import TAIL_BYTES, Marked
from firedup.host.agent.sibling import (
    find_copy,
    identity_of,
    open_between,
    open_next,
    open_quietly,
)
from firedup.host.agent.system import boottime_ns
from firedup.host.agent.wire import DATA, DATA_HEADER, DATA_LIMIT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Follow(Marked):
    """follow {path, generation?, offset?, tail?, dev?, ino?, pid?, polls?, settle_s?}.

    `offset` and what describes the file there come from an earlier follow, whose work this goes on
    with; `pid` may hold that file without a name. `polls` takes the file system for a remote one.
    EVENTs: {state, generation, at_ns, dev, ino, size, lost_bytes}; DATA: the bytes. Never ends.
    """

    silence = "tell"

    def open(self) -> None:
        """Finds the file where the earlier follow left it."""
        args = self.args
        self.prepare(args["path"], is_polled=bool(args.get("polls")))
        self.prepare_marks(args)
        self.pid = int(args.get("pid") or 0)
        self.generation = int(args.get("generation", 0))
        self.known = {}  # type: dict[tuple[int, int], bytes]  # opened files, how those left began
        self.heads = []  # type: list[bytes]  # how those before began
        self.is_missing = False
        self.events = collections.deque()  # type: collections.deque[dict[str, Any]]
        self.begin()

    def close(self) -> None:
        """Closes the log and the notices."""
        self.end_notices()
        self._close_file()
        if self.origin >= 0:
            os.close(self.origin)

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
        if self.has_lost_begin():
            self._leave_truncated()
            return None
        if not self.tail:
            self._skip_hole()
        before = len(self.tail)
        data = os.pread(self.file, before + min(room, DATA_LIMIT), self.offset - before)
        if data[:before] != self.tail:
            if self.may_come_back():
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
        self.note()
        return header + data

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
        if self.origin >= 0:
            self._end_detour()
            return True
        size = os.fstat(self.file).st_size
        if size < self.offset:
            if self.may_come_back():
                return False
            self._leave_truncated()
            return True
        if size > self.offset:
            return True
        try:
            there = os.stat(self.path)  # type: os.stat_result | None
        except OSError:
            there = None
        if there is not None and identity_of(there) == self.identity:
            if self.is_missing:
                self.is_missing = False
                self._tell("appeared")
            return bool(self.events)
        # The writer may still use the old file, so that one is read until a new one has content,
        # and once more after that has been seen.
        has_content = there is not None and there.st_size > 0
        open_new = open_next if has_content else open_between
        new = open_new(self.path, self.file, self.known, self.heads)
        if new >= 0:
            return self._move_on(new)
        return has_content or (there is None and self._tell_missing())

    def _move_on(self, new: int) -> bool:
        """Goes to the file that came after the present one, unless that is not read to its end."""
        if os.fstat(self.file).st_size > self.offset or identity_of(os.fstat(new)) == self.identity:
            os.close(new)
            return True
        self.known[self.found] = self.head
        if os.fstat(self.file).st_nlink == 0:  # its inode may be another file's once it is closed
            del self.known[self.found]
        self._close_file()
        self._leave("rotated", new)
        return True

    # ---- finding and changing files ----------------------------------------------------------

    def _find(self) -> bool:
        """Opens the log for the first time or after it was missing; False when there is none."""
        try:
            self._hold(open_regular(self.path))
        except (FileNotFoundError, NotADirectoryError):
            self.file = -1
        if self.identity is not None and (self.file < 0 or self.found != self.identity):
            moved = open_again(self.path, self.identity, self.pid)
            if moved >= 0:
                self._close_file()
                self._hold(moved)
                self._accept()
                self._tell("opened")
                return True
            if self.file >= 0:
                self._tell("gap", lost_bytes=None)
                self._begin_again("rotated", self.file)
                return True
        if self.file < 0:
            return self._tell_missing()
        self._accept()
        self._tell("appeared" if self.is_missing else "opened")
        self.is_missing = False
        return True

    def _tell_missing(self) -> bool:
        if not self.is_missing:
            self._tell("missing")
        self.is_missing = True
        return bool(self.events)

    def _hold(self, file: int) -> None:
        self.file = file
        self.found = identity_of(os.fstat(file))
        self.must_arm = True

    def _accept(self) -> None:
        """The file that is held is the log now."""
        self.identity = self.found
        self.known[self.found] = b""

    def _close_file(self) -> None:
        self.must_arm = True
        if self.file >= 0:
            os.close(self.file)
        self.file = -1

    def _begin_again(self, state: str, file: int) -> None:
        """A new generation begins, with the open `file`."""
        lost = self.queue.count_lost(self.path, [*self.known, identity_of(os.fstat(file))])
        if lost > 0:
            self._tell("gap", lost_bytes=lost)
        self.generation += 1
        self.offset = self.seen = 0
        self.heads = [*self.heads[-7:], self.head]
        self.tail = self.noted = self.head = b""
        self._hold(file)
        self._accept()
        self.note()
        self.is_missing = False
        self._tell(state)

    def _leave_truncated(self) -> None:
        """The log lost what we had read: its rotator may have kept a copy of what we had not."""
        if self.origin >= 0:  # the copy changes under us; it is no use
            self._end_detour()
            return
        copy = -1
        if self.identity is not None and (self.tail or self.noted):
            place = (self.offset, self.tail) if self.tail else (self.seen, self.noted)
            path = find_copy(self.path, self.identity, *place)
            copy = open_quietly(path) if path is not None else -1
        if copy >= 0:
            self.origin = self.file
            self._hold(copy)
            self.seen, self.noted = max(self.seen, os.fstat(copy).st_size), b""
            self._tell("opened")  # who reads on after a break does so in the copy
            return
        self._leave("truncated", self.file)

    def _end_detour(self) -> None:
        """Back from the copy to the file that was truncated, or to what was moved away since."""
        if self.identity is not None:
            self.known.pop(self.identity, None)  # what it got since then was not read
        new = open_between(self.path, self.file, self.known, self.heads)
        file, self.origin = self.origin, -1
        self._close_file()
        if new < 0:
            self._leave("truncated", file)
            return
        os.close(file)
        self._leave("rotated", new)

    def _leave(self, state: str, file: int) -> None:
        """The present generation ends; what was seen in it and not read is gone."""
        if self.seen > self.offset:
            self._tell("gap", lost_bytes=self.seen - self.offset)
        self._begin_again(state, file)
