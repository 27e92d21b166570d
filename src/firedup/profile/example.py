"""Tries the example lines and near misses of a rule, alone and against its neighbours."""

from __future__ import annotations

import re2

from firedup.core.rule import Role, Rule
from firedup.profile.engine import Expression
from firedup.profile.pattern import PatternError, parse_pattern
from firedup.profile.problem import Problem, label_of
from firedup.profile.schema import SHARED, Catalogue, Entry
from firedup.profile.stopped import where_it_stops
from firedup.profile.version import are_disjoint

_NUMBERS = ("done", "total", "percent", "seconds", "exit_code", "signal", "port", "pid")


class Rivals:
    """The stage and failure rules that an example could hit besides its own."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._compiled = []
        for entry in catalogue.entries:
            rule = entry.rule
            if (rule.stage or rule.failure) and rule.role is not Role.GAUGE:
                try:
                    parse_pattern(rule.pattern)
                    self._compiled.append((rule, Expression(rule.pattern).compile_re2()))
                except (PatternError, re2.error):
                    continue

    def hits(self, rule: Rule, line: str) -> list[Rule]:
        """The other rules that contradict `rule` about a line of its own.

        Those are rules of the same engine, and shared ones when `rule` has no role: where it has
        one, an engine's own word outweighs the shared rule's.
        """
        data = line.encode()
        return [
            rival
            for rival, compiled in self._compiled
            if (rival.engine == rule.engine or (rival.engine is None and rule.role is None))
            and rival.name != rule.name
            and not are_disjoint(rule, rival)
            and compiled.search(data)
        ]


def check_examples(entry: Entry, rivals: Rivals) -> list[Problem]:
    """The problems of a rule whose pattern is sound."""
    rule, label, problems = entry.rule, label_of(entry.rule), []
    compiled = Expression(rule.pattern).compile_re2()
    if rule.literal and rule.literal not in "\n".join(rule.matches):
        what = f'{label}: literal "{rule.literal}" is not in the example lines'
        problems.append(Problem(what, entry.place))
    concerns_others = bool(rule.stage or rule.failure) and rule.role is not Role.GAUGE
    for line in rule.matches:
        found = compiled.search(line.encode())
        if found is None:
            what = f"{label}: the example line is not matched"
            problems.append(Problem(what, entry.place, where_it_stops(rule.pattern, line)))
            continue
        if rule.literal and rule.literal not in line:
            what = f'{label}: an example line does not hold the literal "{rule.literal}"'
            problems.append(Problem(what, entry.place, (f"line     {line}",)))
        problems += _check_captures(entry, line, found.groupdict())
        allowed = {*entry.also, *(f"{rule.engine or SHARED}/{a}" for a in entry.also)}
        allowed |= {f"{SHARED}/{a}" for a in entry.also}
        for rival in rivals.hits(rule, line) if concerns_others else ():
            if rival.name not in allowed:
                what = f"{label}: the example line is also hit by {rival.name}"
                evidence = (f"line     {line}", f"pattern  {rival.pattern}")
                todo = f'Narrow one of them, or declare also = ["{rival.id}"].'
                problems.append(Problem(what, entry.place, evidence, todo))
    for line in rule.misses:
        if compiled.search(line.encode()):
            what = f"{label}: the near miss is matched"
            evidence = (f"line     {line}", f"pattern  {rule.pattern}")
            problems.append(Problem(what, entry.place, evidence))
    return problems


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
