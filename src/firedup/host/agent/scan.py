"""Looks for a few lines, such as the ready line, in what a log has gained since the last look."""

import os
import re
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_PIECE = 1 << 20  # at most this much is read in one look
_LAST_PIECES, _LAST_S = 64, 2.0  # of what is left when the server has ended
_LINE = 4096  # of a line, the part in which patterns are tried
_TAIL = 1 << 16
_ESCAPE = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]")


class Signs:
    """Patterns for lines: [{pattern, fixed?}]; `fixed` are texts of which a match holds one.

    `refused` says which patterns this host's Python cannot read, and why; those never match.
    """

    def __init__(self, rows: "list[dict[str, Any]]") -> None:
        self.refused = []  # type: list[str]
        self._rows = []  # type: list[tuple[Any, list[bytes]]]
        for row in rows:
            fixed = [text.lower().encode("utf-8") for text in row.get("fixed") or ()]
            try:
                self._rows.append((re.compile(row["pattern"].encode("utf-8")), fixed))
            except (re.error, ValueError, OverflowError, RecursionError) as error:
                self.refused.append(f"{row['pattern']!a}: {error}")

    def find(self, block: bytes) -> bool:
        """Whether a line of `block` meets a pattern."""
        if b"\x1b" in block:
            block = _ESCAPE.sub(b"", block)
        low = block.lower()
        rows = [row for row in self._rows if not row[1] or any(text in low for text in row[1])]
        if not rows:
            return False
        for line in block.replace(b"\r", b"\n").split(b"\n"):
            low = line.lower()
            for pattern, fixed in rows:
                # A pattern is costly where it fails late, so it is tried only where it may fit.
                if fixed and not any(text in low for text in fixed):
                    continue
                if pattern.search(line[:_LINE]):
                    return True
        return False


class LogScan:
    """Reads every byte of a log once, from `start` on; only whole lines are looked at."""

    def __init__(self, path: str, start: int, signs: Signs) -> None:
        self._path = path
        self._offset = start
        self._signs = signs
        self._size = -1  # at the last look that reached the end
        self._identity = None  # type: tuple[int, int] | None

    def look(self, size: int) -> bool:
        """Whether the sign stands in what is new; `size` is the log's size now."""
        if size == self._size:
            return False
        try:
            file = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            found = os.fstat(file)
            identity = (found.st_dev, found.st_ino)
            is_other = self._identity is not None and identity != self._identity
            if is_other or found.st_size < self._offset:
                self._offset = 0
            self._identity = identity
            block = os.pread(file, _PIECE, self._offset)
        except OSError:  # such as the stale handle of a network file system
            return False
        finally:
            os.close(file)
        self._size = size if len(block) < _PIECE else -1
        end = max(block.rfind(b"\n"), block.rfind(b"\r")) + 1
        if end == 0 and len(block) == _PIECE:
            end = len(block)  # one endless line
        self._offset += end
        return self._signs.find(block[:end])

    def look_to_end(self, size: int) -> bool:
        """As `look`, on to the end of a log that grows no more; a burst may have left much of it.

        There is a bound: what is left of a log that is longer still says nothing.
        """
        until_s = time.monotonic() + _LAST_S
        for _ in range(_LAST_PIECES):
            if self.look(size):
                return True
            if self._size == size or time.monotonic() > until_s:
                break
        return False


def find_in_tail(path: str, start: int, signs: Signs) -> bool:
    """Whether the sign stands among the last lines that a log has from `start` on."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        size = os.fstat(file).st_size
        begin = max(size - _TAIL, start if size >= start else 0)
        return signs.find(os.pread(file, _TAIL, begin))
    except OSError:
        return False
    finally:
        os.close(file)
