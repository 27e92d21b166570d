"""Finds the line of a table, key or text in a TOML file, which the parser does not tell."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_HEADER = re.compile(r"\s*\[(\[)?\s*([A-Za-z0-9_.\"' -]+?)\s*\]\]?\s*(#.*)?$")
_KEY = re.compile(r"\s*(?:([A-Za-z0-9_-]+)|\"([^\"]*)\"|'([^']*)')\s*(?:\.[\w.-]+\s*)?=")


@dataclass(slots=True)
class Span:
    """One table: its header line, the lines of its keys, and the line after its end."""

    name: str
    line: int
    end: int = 0
    keys: dict[str, int] = field(default_factory=dict)


class Outline:
    """Where the tables of a TOML text lie; lines count from 1."""

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        self._spans = [Span("", 1)]
        quote = ""  # the delimiter of a multi-line string we are in
        for number, line in enumerate(self._lines, start=1):
            if quote:
                quote = "" if quote in line else quote
                continue
            if header := _HEADER.match(line):
                self._spans[-1].end = number
                self._spans.append(Span(header[2].strip(), number))
            elif key := _KEY.match(line):
                self._spans[-1].keys.setdefault(key[1] or key[2] or key[3] or "", number)
            for delimiter in ("'''", '"""'):
                if line.count(delimiter) % 2:
                    quote = delimiter
        self._spans[-1].end = len(self._lines) + 1

    def table(self, name: str, index: int = 0) -> Span:
        """The `index`-th table called `name` ("" = the top), or the top when it is inline."""
        found = [span for span in self._spans if span.name == name]
        return found[index] if index < len(found) else self._spans[0]

    def line_of(self, span: Span, key: str | None = None, text: str | None = None) -> int:
        """The line of `key` in `span`, or of `text` at or below it; the header when not found."""
        if key is None:
            return span.line
        if key not in span.keys:  # the key may have a table of its own
            below = (s.line for s in self._spans if s.name == key)
            return next(below, span.line) if span is self._spans[0] else span.line
        line = span.keys[key]
        if text:
            for number in range(line, span.end):
                if text in self._lines[number - 1]:
                    return number
        return line
