"""HTTP/1 answers → calls of a sink, for where the compiled parser cannot be had."""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import Enum, auto
from typing import Protocol

# The limits of common servers; an answer of an inference server has a few hundred bytes of head.
LONGEST_LINE = 64 * 2**10
LONGEST_HEAD = 256 * 2**10
_STATUS_LINE = re.compile(rb"HTTP/(\d\.\d) (\d{3})(?: [^\r\n\0]*)?\Z")
_NAME = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+\Z")
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,16})[ \t]*(?:;.*)?\Z", re.DOTALL)


class Http1Error(ValueError):
    """The bytes are no answer of HTTP/1, or one beyond the limits."""


class Sink(Protocol):
    """Who is told what an answer consists of; the names are those of httptools."""

    def on_message_begin(self) -> None:
        """An answer begins."""

    def on_header(self, name: bytes, value: bytes) -> None:
        """A line of the head."""

    def on_headers_complete(self) -> None:
        """The head is complete."""

    @property
    def on_body(self) -> Callable[[bytes], None]:
        """Takes a part of the body, its transfer coding taken off; asked for once, at the start."""

    def on_message_complete(self) -> None:
        """The answer is complete."""


class _State(Enum):
    STATUS = auto()
    HEAD = auto()
    LENGTH = auto()  # a body of known length
    CHUNK_SIZE = auto()
    CHUNK = auto()
    CHUNK_END = auto()
    TRAILER = auto()
    TO_END = auto()  # a body that ends with the connection


class ResponseParser:
    """Parses the answers on one connection, one after the other."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._on_body = sink.on_body
        self._state = _State.STATUS
        self._rest = bytearray()
        self._left = 0  # bytes of the body or of its chunk
        self._head_bytes = 0
        self._status = 0
        self._version = "1.1"
        self._connection: set[bytes] = set()
        self._length: int | None = None
        self._codings: list[bytes] = []

    def get_status_code(self) -> int:
        """The status of the newest answer."""
        return self._status

    def should_keep_alive(self) -> bool:
        """Whether another request may follow on this connection."""
        if self._state is _State.TO_END or b"close" in self._connection:
            return False
        return self._version != "1.0" or b"keep-alive" in self._connection

    def feed_data(self, data: bytes | bytearray | memoryview) -> None:
        """Take the next bytes of the connection; Http1Error when they cannot follow."""
        data = bytes(data)
        at, end = 0, len(data)
        while at < end:
            if self._state in (_State.LENGTH, _State.CHUNK, _State.TO_END):
                at = self._take_body(data, at)
                continue
            newline = data.find(b"\n", at)
            if newline < 0:
                self._rest += data[at:]
                if len(self._rest) > LONGEST_LINE:
                    raise Http1Error("a line of the answer's head is too long")
                if self._state is _State.STATUS and not b"HTTP/".startswith(self._rest[:5]):
                    raise Http1Error("the answer does not begin with HTTP/")
                return
            line = bytes(self._rest) + data[at:newline]
            self._rest.clear()
            at = newline + 1
            if len(line) > LONGEST_LINE:
                raise Http1Error("a line of the answer's head is too long")
            self._take_line(line.removesuffix(b"\r"))

    def _take_body(self, data: bytes, at: int) -> int:
        if self._state is _State.TO_END:
            self._on_body(data[at:])
            return len(data)
        part = data[at : at + self._left]
        self._left -= len(part)
        self._on_body(part)
        if self._left == 0:
            if self._state is _State.CHUNK:
                self._state = _State.CHUNK_END
            else:
                self._complete()
        return at + len(part)

    def _take_line(self, line: bytes) -> None:
        match self._state:
            case _State.STATUS:
                if line:  # an empty one may be left from the answer before
                    self._take_status(line)
            case _State.HEAD:
                self._count_head(line)
                if line:
                    self._take_header(line)
                else:
                    self._end_head()
            case _State.CHUNK_SIZE:
                found = _CHUNK.match(line)
                if found is None:
                    raise Http1Error("the length of a chunk is no number")
                self._left = int(found.group(1), 16)
                self._state = _State.CHUNK if self._left else _State.TRAILER
            case _State.CHUNK_END:
                if line:
                    raise Http1Error("a chunk is longer than was said")
                self._state = _State.CHUNK_SIZE
            case _:
                self._count_head(line)
                if line:
                    self._sink.on_header(*_split_header(line))
                else:
                    self._complete()

    def _take_status(self, line: bytes) -> None:
        found = _STATUS_LINE.match(line)
        if found is None:
            raise Http1Error("the answer does not begin with HTTP/1 and a status")
        self._version, self._status = found.group(1).decode(), int(found.group(2))
        self._head_bytes, self._length = 0, None
        self._connection, self._codings = set(), []
        self._state = _State.HEAD
        self._sink.on_message_begin()

    def _count_head(self, line: bytes) -> None:
        self._head_bytes += len(line) + 2
        if self._head_bytes > LONGEST_HEAD:
            raise Http1Error("the answer's head is too long")

    def _take_header(self, line: bytes) -> None:
        name, value = _split_header(line)
        match name.lower():
            case b"content-length":
                if not value.isdigit() or len(value) > 18 or self._length is not None:
                    raise Http1Error("the answer's Content-Length is no number, or said twice")
                self._length = int(value)
            case b"transfer-encoding":
                self._codings += [word.strip().lower() for word in value.split(b",")]
            case b"connection":
                self._connection |= {word.strip().lower() for word in value.split(b",")}
        self._sink.on_header(name, value)

    def _end_head(self) -> None:
        if self._codings and self._length is not None:
            raise Http1Error("the answer has a Content-Length and a Transfer-Encoding")
        has_no_body = self._status < 200 or self._status in (204, 304)
        if has_no_body or self._length == 0:
            self._sink.on_headers_complete()
            self._complete()
            return
        if self._codings and self._codings[-1] == b"chunked":
            self._state = _State.CHUNK_SIZE
        elif self._length is not None:
            self._state, self._left = _State.LENGTH, self._length
        else:
            self._state = _State.TO_END
        self._sink.on_headers_complete()

    def _complete(self) -> None:
        # The state changes first: the sink may ask whether the connection can go on.
        self._state = _State.STATUS
        self._sink.on_message_complete()


def _split_header(line: bytes) -> tuple[bytes, bytes]:
    name, colon, value = line.partition(b":")
    if not colon or not _NAME.match(name):
        raise Http1Error("a line of the answer's head has no name")
    return name, value.strip(b" \t")
