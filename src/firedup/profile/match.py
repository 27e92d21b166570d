"""Implements the core's Matcher: one pass over blocks to find lines, RE2 to understand them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property

import re2

from firedup.core.model import Line
from firedup.core.rule import Hit, Role, Rule
from firedup.profile.regex import Expression
from firedup.profile.scan import Blobs, LineFilter, make_filter, make_search
from firedup.profile.schema import Catalogue

# A kind is asked for only where an exception is named: few lines do, and openers find them all.
_NAMED = re.compile(rb"[A-Za-z_](?:Error|Exception|Timeout|Exit|Expired|Unavailable)\b")


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
        self._rules = tuple(rule for rule in rules if rule.role is not Role.KIND)
        self._kinds = tuple(rule for rule in rules if rule.role is Role.KIND)
        self._compiled: dict[str, re2._Regexp] = {}
        gauges = [(n, rule) for n, rule in enumerate(self._rules) if rule.role is Role.GAUGE]
        self._gauges = [(n, (rule.literal or "").encode()) for n, rule in gauges]
        self._scanned = [n for n, rule in enumerate(self._rules) if rule.role is not Role.GAUGE]
        self._scanner, self._filter = make_search(
            [*(self._rules[n].pattern for n in self._scanned), *openers],
            blobs,
            usual=[text for _, rule in gauges for text in rule.matches],
            uses_hyperscan=uses_hyperscan,
        )
        self._blobs, self._uses_hyperscan = blobs, uses_hyperscan

    @property
    def gauge_literals(self) -> tuple[bytes, ...]:
        """Texts of which every gauge line holds one."""
        return tuple(dict.fromkeys(literal for _, literal in self._gauges if literal))

    def scan(self, block: bytes) -> list[int]:
        """Positions in `block`, ascending, at least one in each record that matters."""
        return self._scanner.scan(block)

    def match(self, line: Line) -> tuple[Hit, ...]:
        """All rules that what was written meets, in the order of the rules given; kinds last."""
        data = line.written.encode(errors="replace")
        count = len(self._scanned)
        found = [self._scanned[n] for n in self._filter.candidates(data) if n < count]
        if gauges := [n for n, literal in self._gauges if literal in data]:
            found = sorted([*found, *gauges])
        rules = [self._rules[n] for n in found]
        if _NAMED.search(data):
            rules += [self._kinds[n] for n in self._kind_filter.candidates(data)]
        hits = []
        for rule in rules:
            match = self._regexp(rule.pattern).search(data)
            if match is None:
                continue
            captures = {
                name.decode(): value.decode(errors="replace")
                for name, value in match.groupdict().items()
                if value is not None
            }
            hits.append(Hit(rule, line, captures))
        return tuple(hits)

    @cached_property
    def _kind_filter(self) -> LineFilter:
        patterns = [rule.pattern for rule in self._kinds]
        return make_filter(patterns, self._blobs, uses_hyperscan=self._uses_hyperscan)

    def _regexp(self, pattern: str) -> re2._Regexp:
        if pattern not in self._compiled:
            self._compiled[pattern] = Expression(pattern).compile_re2()
        return self._compiled[pattern]


def build_matcher(
    catalogue: Catalogue,
    engine: str | None = None,
    openers: Sequence[str] = (),
    *,
    blobs: Blobs | None = None,
) -> CatalogueMatcher:
    """The matcher of the rules that apply to `engine` (None = not known: all engines)."""
    return CatalogueMatcher(catalogue.rules_for(engine), openers, blobs=blobs)
