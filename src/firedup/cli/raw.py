"""Writes the bytes of a log to standard output, made safe where that is a terminal."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from firedup.view.redact import printable_block, redact


@contextmanager
def open_raw(stream: TextIO) -> Iterator[Callable[[bytes], None]]:
    """What writes to `stream`: bytes as they are, or lines of safe text on a terminal."""
    if stream.isatty():
        lines = _Lines(stream)
        yield lines.write
        lines.close()
        return

    def write(data: bytes) -> None:
        stream.buffer.write(data)
        stream.buffer.flush()

    yield write


class _Lines:
    """Holds back what may be the beginning of a secret, a letter or a control sequence."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""

    def write(self, data: bytes) -> None:
        text = self._rest + self._decoder.decode(data)
        end = max(text.rfind("\n"), text.rfind("\r", 0, -1)) + 1
        self._rest = text[end:]
        self._print(text[:end])

    def close(self) -> None:
        if self._rest:
            self._print(f"{self._rest}\n")

    def _print(self, text: str) -> None:
        """The states of a bar stand in lines of their own."""
        lines = text.replace("\r\n", "\n").replace("\r", "\n")
        self._stream.write(redact(printable_block(lines)))
        self._stream.flush()
