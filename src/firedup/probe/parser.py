"""The parser of HTTP answers: httptools where it is installed, else our own of the same shape."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Protocol

from firedup.core.measure.http1 import Http1Error, ResponseParser, Sink


def _load() -> Any:
    """The compiled parser; None on a far host, where only the standard library is to be had."""
    try:
        return import_module("httptools")
    except ImportError:
        return None


_httptools = _load()
# What either parser raises for bytes that are no answer.
PARSER_ERRORS: tuple[type[Exception], ...] = (Http1Error,)
if _httptools is not None:
    PARSER_ERRORS += (_httptools.HttpParserError, _httptools.HttpParserUpgrade)


class Parser(Protocol):
    """What the two have in common."""

    def feed_data(self, data: bytes | bytearray | memoryview, /) -> None:
        """Take the next bytes of the connection."""

    def get_status_code(self) -> int:
        """The status of the newest answer."""

    def should_keep_alive(self) -> bool:
        """Whether another request may follow on this connection."""


def make_parser(sink: Sink, *, own: bool = False) -> Parser:
    """A parser that tells `sink`; `own` takes the slower one though the other is there."""
    if own or _httptools is None:
        return ResponseParser(sink)
    parser: Parser = _httptools.HttpResponseParser(sink)
    return parser
