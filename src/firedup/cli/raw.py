"""Writes the bytes of a log to standard output, made safe where that is a terminal."""

from __future__ import annotations

import codecs
from collections.abc import Callable
from typing import TextIO

from firedup.view.redact import printable_block, redact


def open_raw(stream: TextIO) -> Callable[[bytes], None]:
    """What writes to `stream`: bytes as they are, or whole lines of safe text on a terminal."""
    if stream.isatty():
        return _Lines(stream).write

    def write(data: bytes) -> None:
        stream.buffer.write(data)
        stream.buffer.flush()

    return write


class _Lines:
    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""

    def write(self, data: bytes) -> None:
        self._rest += self._decoder.decode(data).replace("\r", "\n")
        lines, feed, self._rest = self._rest.rpartition("\n")
        self._stream.write(redact(printable_block(lines + feed)))
        self._stream.flush()
