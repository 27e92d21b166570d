"""The two regex engines under one roof: a pattern as RE2 reads it and as Hyperscan scans for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import re2

from firedup.profile.pattern import parse_pattern

try:
    import hyperscan
except ImportError:  # no wheel for this machine: RE2 does the same work, only slower
    hyperscan = None


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
        return re2.compile(self.data, self.options())

    def names(self) -> tuple[str, ...]:
        """The names of its groups; empty when RE2 refuses the pattern."""
        try:
            return tuple(name.decode() for name in self.compile_re2().groupindex)
        except re2.error:
            return ()

    @cached_property
    def for_blocks(self) -> bytes:
        """The pattern for a block of many lines: its anchors also meet carriage returns."""
        pieces, start = [], 0
        for at in parse_pattern(self.pattern).anchors:
            widened = r"(?:^|[\r\n])" if self.pattern[at] == "^" else r"(?:[\r\n]|$)"
            pieces += [self.pattern[start:at], widened]
            start = at + 1
        return "".join([*pieces, self.pattern[start:]]).encode()


def compile_hyperscan(expressions: Sequence[Expression]) -> hyperscan.Database:
    """A database that scans blocks; raises ValueError, or HyperscanMissingError without it."""
    if hyperscan is None:
        raise HyperscanMissingError
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    try:
        database.compile(
            expressions=[expression.for_blocks for expression in expressions],
            ids=list(range(len(expressions))),
            elements=len(expressions),
            flags=[hyperscan.HS_FLAG_MULTILINE] * len(expressions),
        )
    except hyperscan.error as error:
        raise ValueError(str(error)) from error
    return database
