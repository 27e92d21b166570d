"""Implements the core's Matcher: one pass of Hyperscan over blocks, RE2 over candidate lines."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Protocol

import re2

from firedup.core.model import Line
from firedup.core.rule import Hit, Role, Rule
from firedup.profile.engine import (
    Expression,
    HyperscanMissingError,
    Scanner,
    compile_hyperscan,
    load_hyperscan,
    store_hyperscan,
)
from firedup.profile.schema import Catalogue


class Blobs(Protocol):
    """A place for compiled patterns, such as `firedup.profile.cache.Cache`."""

    def get(self, name: str) -> bytes | None:
        """What was put under `name`, None when absent."""

    def put(self, name: str, body: bytes) -> None:
        """Keeps `body`, or not."""


class CatalogueMatcher:
    """A set of rules, compiled. For one thread at a time.

    `openers` are patterns of lines that begin a multi-line message: `scan` reports them, `match`
    does not know them. A block that holds ESC must be freed of colour codes by the caller before
    `scan`, since patterns are written for the text that a person sees.
    """

    def __init__(
        self,
        rules: Sequence[Rule],
        openers: Sequence[str] = (),
        *,
        blobs: Blobs | None = None,
        uses_hyperscan: bool = True,
    ) -> None:
        self._rules = tuple(rules)
        self._expressions = tuple(Expression(rule.pattern) for rule in rules)
        self._compiled: dict[int, re2._Regexp] = {}
        self._set = _search_set([expression.data for expression in self._expressions])
        self._gauge_literals = tuple(
            dict.fromkeys(rule.literal.encode() for rule in rules if rule.literal)
        )
        scanned = [Expression(rule.pattern) for rule in rules if rule.role is not Role.GAUGE]
        scanned += [Expression(pattern) for pattern in openers]
        self._scanner = _scanner(scanned, blobs, uses_hyperscan=uses_hyperscan)

    @property
    def gauge_literals(self) -> tuple[bytes, ...]:
        """Texts of which every gauge line holds one."""
        return self._gauge_literals

    def scan(self, block: bytes) -> list[int]:
        """Positions in `block`, ascending, at least one in each record that matters."""
        return self._scanner.scan(block)

    def match(self, line: Line) -> tuple[Hit, ...]:
        """All rules that `line.text` meets, in the order of the rules given."""
        data = line.text.encode(errors="replace")
        hits = []
        for index in sorted(self._set.Match(data)):
            found = self._regexp(index).search(data)
            if found is None:  # the set and the single pattern disagree: believe the pattern
                continue
            captures = {
                name.decode(): value.decode(errors="replace")
                for name, value in found.groupdict().items()
                if value is not None
            }
            hits.append(Hit(self._rules[index], line, captures))
        return tuple(hits)

    def _regexp(self, index: int) -> re2._Regexp:
        if index not in self._compiled:
            self._compiled[index] = self._expressions[index].compile_re2()
        return self._compiled[index]


def build_matcher(
    catalogue: Catalogue,
    engine: str | None = None,
    openers: Sequence[str] = (),
    *,
    blobs: Blobs | None = None,
) -> CatalogueMatcher:
    """The matcher of the rules that apply to `engine` (None = not known: all engines)."""
    return CatalogueMatcher(catalogue.rules_for(engine), openers, blobs=blobs)


class SetScanner:
    """The scan without Hyperscan: an RE2 set over the block, halved until records are left."""

    def __init__(self, expressions: Sequence[Expression]) -> None:
        self._set = _search_set([b"(?m)" + e.for_blocks for e in expressions])

    def scan(self, block: bytes) -> list[int]:
        """The start of each matching record (a piece ended by LF, CR LF or CR)."""
        found: list[int] = []
        pending = [(0, len(block))] if block else []
        while pending:
            start, end = pending.pop()
            if not self._set.Match(block[start:end]):
                continue
            middle = _boundary(block, start, end)
            if middle is None:
                found.append(start)
            else:
                pending += [(middle, end), (start, middle)]
        return found


def _boundary(block: bytes, start: int, end: int) -> int | None:
    """The start of a record inside (start, end), near the middle; None when there is none."""
    middle = (start + end) // 2
    for low, high, search in ((middle, end, block.find), (start, middle, block.rfind)):
        cuts = [at + 1 for mark in (b"\n", b"\r") if (at := search(mark, low, high)) >= 0]
        cuts = [cut for cut in cuts if start < cut < end]
        if cuts:
            return min(cuts) if low == middle else max(cuts)
    return None


def _search_set(patterns: Sequence[bytes]) -> re2.Set:
    found = re2.Set.SearchSet(Expression.options())
    for pattern in patterns:
        found.Add(pattern)
    found.Compile()
    return found


def _scanner(
    expressions: Sequence[Expression], blobs: Blobs | None, *, uses_hyperscan: bool
) -> Scanner:
    if not uses_hyperscan or not expressions:
        return SetScanner(expressions)
    digest = hashlib.sha256(b"\0".join(e.for_blocks for e in expressions)).hexdigest()[:32]
    name = f"patterns-{digest}"
    stored = blobs.get(name) if blobs else None
    try:
        if stored is not None and (loaded := load_hyperscan(stored)) is not None:
            return loaded
        scanner = compile_hyperscan(expressions)
    except HyperscanMissingError:
        return SetScanner(expressions)
    if blobs:
        blobs.put(name, store_hyperscan(scanner))
    return scanner
