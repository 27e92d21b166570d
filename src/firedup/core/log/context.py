"""The lines of a log around its cause, taken from a piece of the log read a second time."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import replace

from firedup.core.log.line import LIMIT_BYTES
from firedup.core.log.prefix import parse_prefix, strip_escapes
from firedup.core.model import Explanation

# So much is read on each side of the cause; longer lines are rare, and shown cut anyway.
SIDE_BYTES = 1 << 16
LINE_CHARS = 2000
# Of a log that cannot be read twice so much of its end is kept.
KEPT_BYTES = 32 << 20
_MARKS = "^~"  # of Python below a line of code; by themselves they say nothing


class Recent:
    """The end of a log that comes but once: feed it all bytes in order."""

    def __init__(self, limit: int = KEPT_BYTES) -> None:
        self._limit = limit
        self._blocks: deque[bytes] = deque()
        self._start = 0
        self._size = 0

    def feed(self, block: bytes) -> None:
        """Take the next bytes."""
        self._blocks.append(block)
        self._size += len(block)
        while self._size - len(self._blocks[0]) >= self._limit:
            dropped = len(self._blocks.popleft())
            self._start += dropped
            self._size -= dropped

    def read(self, offset: int, length: int) -> bytes:
        """Bytes of the log, as far as they are still here; none when the first is gone."""
        if offset < self._start:
            return b""
        at, pieces = self._start, []
        for block in self._blocks:
            if at + len(block) > offset and at < offset + length:
                pieces.append(block[max(0, offset - at) : offset + length - at])
            at += len(block)
        return b"".join(pieces)


def wanted_span(explanation: Explanation) -> tuple[int, int] | None:
    """(offset, length) of what `with_context` needs of the log; None where nothing is."""
    cause = explanation.cause
    if cause is None or cause.offset is None:
        return None
    start = max(0, cause.offset - SIDE_BYTES)
    return start, cause.offset - start + SIDE_BYTES


def holds_line(data: bytes, at: int, line: str) -> bool:
    """Whether the record at `data[at:]` is the one that is shown as `line`."""
    raw = data[at : at + LIMIT_BYTES].partition(b"\n")[0].partition(b"\r")[0]
    text = strip_escapes(raw.decode("utf-8", "replace")).rstrip()
    return bool(text) and text.startswith(line.partition("\n")[0][:LINE_CHARS])


def with_context(explanation: Explanation, data: bytes, count: int) -> Explanation:
    """`explanation` with up to `count` lines before its cause and after it.

    `data` are the bytes of `wanted_span`, as far as there are any. Empty lines are passed over, and
    of a progress bar only its last state is taken.
    """
    cause, span = explanation.cause, wanted_span(explanation)
    if cause is None or cause.offset is None or span is None or not data:
        return explanation
    at = cause.offset - span[0]
    first = data.rfind(b"\n", 0, at) + 1
    stop = data.find(b"\n", at)
    before = data[:first].split(b"\n")
    if span[0] > 0:
        before = before[1:]  # its beginning is not here
    after = data[stop + 1 :].split(b"\n") if stop >= 0 else []
    if len(data) == span[1]:
        after = after[:-1]  # nor is its end
    return replace(
        explanation,
        cause=replace(
            cause,
            before=tuple(reversed(_take(reversed(before), count, passes_over=_MARKS))),
            after=tuple(_take(iter(after), count, passes_over=_MARKS)),
        ),
    )


def last_lines(data: bytes, count: int, *, is_whole: bool) -> tuple[str, ...]:
    """The last `count` lines of `data`, the end of a log; `is_whole` when it is all of it."""
    raw = data.split(b"\n")
    return tuple(reversed(_take(reversed(raw if is_whole else raw[1:]), count)))


def _take(lines: Iterator[bytes], count: int, *, passes_over: str = "") -> list[str]:
    found: list[str] = []
    for raw in lines:
        if len(found) >= count:
            break
        text = _decode(raw)
        if text[parse_prefix(text, 1970).length :].strip(f" {passes_over}"):
            found.append(text)
    return found


def _decode(raw: bytes) -> str:
    body = raw.rstrip(b"\r")
    last = body[body.rfind(b"\r") + 1 :]
    return strip_escapes(last.decode("utf-8", "replace")).rstrip()[:LINE_CHARS]
