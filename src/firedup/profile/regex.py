"""The two regex engines under one roof: a pattern as RE2 reads it and as Hyperscan scans for it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import re2

from firedup.profile.pattern import Shape, exact_texts, parse_pattern

try:
    import hyperscan
except ImportError:  # no wheel for this machine: RE2 does the same work, only slower
    hyperscan = None  # type: ignore[assignment]  # a module or none


_LONG_ENOUGH = 8  # shorter texts are met too often by chance


class HyperscanMissingError(RuntimeError):
    """Hyperscan is not installed here."""


@dataclass(frozen=True)
class Expression:
    """A pattern, read as bytes: `.` is one byte, `^` and `$` are the line's ends."""

    pattern: str

    @property
    def data(self) -> bytes:
        """The pattern as it is written, in UTF-8."""
        return self.pattern.encode()

    @staticmethod
    def options() -> re2.Options:
        """RE2 over bytes, silent, with room for the automata of a whole catalogue."""
        options = re2.Options()
        options.log_errors = False
        options.encoding = re2.Options.Encoding.LATIN1
        options.max_mem = 64 << 20
        return options

    def compile_re2(self) -> re2._Regexp:
        """The pattern for one line; raises re2.error."""
        return _compiled(self.data)

    def names(self) -> tuple[str, ...]:
        """The names of its groups; empty when RE2 refuses the pattern."""
        try:
            return tuple(name.decode() for name in self.compile_re2().groupindex)
        except re2.error:
            return ()

    @cached_property
    def for_blocks(self) -> bytes:
        """The pattern for a block of many lines: `$` also meets carriage returns, `^` anything.

        A line's beginning may stand behind what a collector of logs wrote before it; more finds
        than needed are no harm.
        """
        pieces, start = [], 0
        for at in self._shape.anchors:
            widened = "" if self.pattern[at] == "^" else r"(?:[\r\n]|$)"
            pieces += [self.pattern[start:at], widened]
            start = at + 1
        return "".join([*pieces, self.pattern[start:]]).encode()

    @cached_property
    def texts(self) -> tuple[bytes, ...]:
        """Texts as they are spelt of which every match holds one; perhaps none."""
        return tuple(text.encode() for text in exact_texts(self.pattern))

    @cached_property
    def caseless_texts(self) -> tuple[bytes, ...]:
        """Texts in lower case of which every match holds one in some spelling; perhaps none."""
        shape = self._shape
        return tuple(text.lower().encode() for text in shape.fixed or () if shape.is_caseless)

    @cached_property
    def coarse(self) -> bytes:
        """Fixed texts of which every match holds one, or the whole pattern if those are short.

        A search for fixed texts runs at the same speed however a pattern is built.
        """
        shape = self._shape
        if not shape.fixed or shape.fixed_length < _LONG_ENOUGH:
            return self.for_blocks
        texts = "|".join(re.escape(text) for text in dict.fromkeys(shape.fixed))
        return (f"(?i){texts}" if shape.is_caseless else texts).encode()

    @cached_property
    def _shape(self) -> Shape:
        return parse_pattern(self.pattern)


@lru_cache(maxsize=2048)
def _compiled(pattern: bytes) -> re2._Regexp:
    return re2.compile(pattern, Expression.options())


def search_set(patterns: Sequence[bytes]) -> re2.Set:
    """An RE2 set that tells in one pass which of `patterns` a text meets."""
    found = re2.Set.SearchSet(Expression.options())
    for pattern in patterns:
        found.Add(pattern)
    found.Compile()
    return found


class HyperscanScanner:
    """A Hyperscan database in block mode, which reports every place where a match ends."""

    def __init__(self, database: hyperscan.Database) -> None:
        self.database = database

    def scan(self, block: bytes, limit: int | None = None) -> list[int] | None:
        """The last byte of each match, ascending; None when there are more than `limit`.

        A match may run over several records; then it means nothing.
        """
        found: list[int] = []
        note = found.append

        def on_match(_id: int, _start: int, end: int, _flags: int, _context: object) -> bool:
            note(end - 1)
            return len(found) == stop_at

        stop_at = -1 if limit is None else limit + 1
        try:
            self.database.scan(block, match_event_handler=on_match)
        except hyperscan.ScanTerminated:
            return None
        found.sort()
        return found

    def candidates(self, line: bytes) -> list[int]:
        """The numbers of the patterns that `line` meets, ascending."""
        found: set[int] = set()
        note = found.add

        def on_match(number: int, _start: int, _end: int, _flags: int, _context: object) -> None:
            note(number)

        self.database.scan(line, match_event_handler=on_match)
        return sorted(found)


def compile_hyperscan(patterns: Sequence[bytes]) -> HyperscanScanner:
    """Compiles for blocks; raises ValueError, or HyperscanMissingError where there is none."""
    if hyperscan is None:
        raise HyperscanMissingError
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    try:
        database.compile(
            expressions=list(patterns),
            ids=list(range(len(patterns))),
            elements=len(patterns),
            flags=[hyperscan.HS_FLAG_MULTILINE] * len(patterns),
        )
    except hyperscan.error as error:
        raise ValueError(str(error)) from error
    return HyperscanScanner(database)


def store_hyperscan(scanner: HyperscanScanner) -> bytes:
    """The compiled database as bytes, for this machine's kind of CPU and this Hyperscan."""
    return hyperscan.dumpb(scanner.database)


def load_hyperscan(data: bytes) -> HyperscanScanner | None:
    """The database of `data`; None when another version or CPU wrote it."""
    if hyperscan is None:
        raise HyperscanMissingError
    try:
        database = hyperscan.loadb(data, mode=hyperscan.HS_MODE_BLOCK)
        database.scratch = hyperscan.Scratch(database)
    except hyperscan.error:
        return None
    return HyperscanScanner(database)
