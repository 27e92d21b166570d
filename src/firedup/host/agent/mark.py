"""What tells a followed log from another one, and what was seen of it that may get destroyed."""

import binascii
import os
import time

from firedup.host.agent.inotify import Noticing
from firedup.host.agent.sibling import HEAD_BYTES, Queue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

TAIL_BYTES = 256  # what must be unchanged before our offset, or it is another log
_SETTLE_S = 3.0  # so long a network file system may show an old size


class Marked(Noticing):
    """A stream that reads the open `file` up to `offset` and knows its marks."""

    def prepare_marks(self, args: "dict[str, Any]") -> None:
        """The marks that an earlier follow has left; nothing is looked at yet."""
        self.settle_s = float(args.get("settle_s", _SETTLE_S))
        self.shrunk_s = None  # type: float | None  # since when it is shorter than it was
        self.offset = int(args.get("offset", 0))
        self.tail = binascii.a2b_base64(args.get("tail", ""))
        self.identity = None  # type: tuple[int, int] | None
        if args.get("ino") is not None:
            self.identity = (int(args["dev"]), int(args["ino"]))
        self.seen, self.noted = self.offset, b""  # the largest size known, what stood before it
        self.head = b""  # how this generation begins
        self.queue = Queue()
        self.origin = -1  # the truncated file, while a rotator's copy of it is read

    def note_size(self) -> None:
        """While the reader gives no credit: remembers how much there is that may get destroyed."""
        if self.credit > 0:
            return
        is_same = self.file >= 0 and self.origin < 0 and self.is_same_past()
        if is_same:
            self.note()
        self.queue.note(self.path, self.identity if is_same else None)

    def note(self) -> None:
        """Remembers how large the file is, what stands before its end, and how it begins."""
        size = os.fstat(self.file).st_size
        if size > self.seen:
            self.seen = size
            self.noted = os.pread(self.file, min(TAIL_BYTES, size), max(0, size - TAIL_BYTES))
        if len(self.head) < HEAD_BYTES:
            self.head = os.pread(self.file, HEAD_BYTES, 0)

    def has_lost_begin(self) -> bool:
        """Whether a log of which nothing was read yet is another than the one that was noted."""
        length = 0 if self.tail else len(self.noted)
        return length > 0 and os.pread(self.file, length, self.seen - length) != self.noted

    def is_same_past(self) -> bool:
        """Whether the file still holds what was read of it."""
        past = os.pread(self.file, len(self.tail), self.offset - len(self.tail))
        return past == self.tail and not self.has_lost_begin()

    def may_come_back(self) -> bool:
        """Network file systems may show an old size for a while, so it is not believed at once."""
        if not self.is_polled or self.origin >= 0 or os.fstat(self.file).st_size >= self.offset:
            return False
        now = time.monotonic()
        self.shrunk_s = now if self.shrunk_s is None else self.shrunk_s
        return now - self.shrunk_s < self.settle_s
