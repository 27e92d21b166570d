"""Tries the example lines and near misses of a rule, alone and against its neighbours."""

from __future__ import annotations

import re2

from firedup.core.rule import Role, Rule
from firedup.core.version import are_disjoint
from firedup.profile.mismatch import where_it_stops
from firedup.profile.pattern import PatternError, parse_pattern
from firedup.profile.problem import Problem, label_of
from firedup.profile.regex import Expression, search_set
from firedup.profile.schema import SHARED, Catalogue, Entry

_NUMBERS = (
    *("done", "total", "percent", "seconds"),
    *("exit_code", "signal", "port", "pid", "ranks", "nodes"),
)


class Rivals:
    """The stage and failure rules that an example could hit besides its own."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._rules = []
        for entry in catalogue.entries:
            rule = entry.rule
            if (rule.stage or rule.failure) and rule.role is not Role.GAUGE:
                try:
                    parse_pattern(rule.pattern)
                    Expression(rule.pattern).compile_re2()
                except (PatternError, re2.error):
                    continue
                self._rules.append(rule)
        self._set = search_set([rule.pattern.encode() for rule in self._rules])

    def hits(self, rule: Rule, line: str) -> list[Rule]:
        """The other rules that contradict `rule` about a line of its own.

        Those are rules of the same engine, and shared ones when `rule` has no role: where it has
        one, an engine's own word outweighs the shared rule's. What only names a kind contradicts
        nothing: it yields to all others, and to its like that come before it.
        """
        found = (self._rules[index] for index in sorted(self._set.Match(line.encode()) or ()))
        return [
            rival
            for rival in found
            if rival.role is not Role.KIND
            and (rival.engine == rule.engine or (rival.engine is None and rule.role is None))
            and rival.name != rule.name
            and not are_disjoint(rule, rival)
        ]


def check_examples(entry: Entry, rivals: Rivals) -> list[Problem]:
    """The problems of all examples of a rule whose pattern is sound."""
    problems = [p for line in entry.rule.matches for p in check_match(entry, line, rivals)]
    return problems + [p for line in entry.rule.misses for p in check_miss(entry, line)]


def check_match(entry: Entry, line: str, rivals: Rivals) -> list[Problem]:
    """What is wrong when `line` is to be hit by the rule of `entry`."""
    rule, label = entry.rule, label_of(entry.rule)
    found = Expression(rule.pattern).compile_re2().search(line.encode())
    if found is None:
        what = f"{label}: the example line is not matched"
        return [Problem(what, entry.place, where_it_stops(rule.pattern, line))]
    problems = _check_captures(entry, line, found.groupdict())
    if rule.literal and rule.literal not in line:
        what = f'{label}: an example line does not hold the literal "{rule.literal}"'
        problems.append(Problem(what, entry.place, (f"line     {line}",)))
    if not (rule.stage or rule.failure) or rule.role is Role.GAUGE:
        return problems
    allowed = {*entry.also, *(f"{rule.engine or SHARED}/{name}" for name in entry.also)}
    allowed |= {f"{SHARED}/{name}" for name in entry.also}
    for rival in rivals.hits(rule, line):
        if rival.name not in allowed:
            what = f"{label}: the example line is also hit by {rival.name}"
            evidence = (f"line     {line}", f"pattern  {rival.pattern}")
            todo = f'Narrow one of them, or declare also = ["{rival.id}"].'
            problems.append(Problem(what, entry.place, evidence, todo))
    return problems


def check_miss(entry: Entry, line: str) -> list[Problem]:
    """What is wrong when `line` is to be missed by the rule of `entry`."""
    rule = entry.rule
    if not Expression(rule.pattern).compile_re2().search(line.encode()):
        return []
    what = f"{label_of(rule)}: the near miss is matched"
    evidence = (f"line     {line}", f"pattern  {rule.pattern}")
    return [Problem(what, entry.place, evidence, "Narrow the pattern, or choose another line.")]


def _check_captures(entry: Entry, line: str, groups: dict[bytes, bytes | None]) -> list[Problem]:
    problems = []
    for name in {*_NUMBERS, *entry.rule.gauges}:
        value = groups.get(name.encode())
        if value is None:
            continue
        text = value.decode().replace(",", "")
        try:
            float(text)
        except ValueError:
            what = f'{label_of(entry.rule)}: the capture {name} is "{value.decode()}", not a number'
            problems.append(Problem(what, entry.place, (f"line     {line}",)))
    return problems
