"""What a catalogue must satisfy: patterns, examples, captures, ids and texts; run it on a folder."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import re2

from firedup.core.error import ProfileError
from firedup.core.rule import Edge, Role, Rule
from firedup.profile.engine import Expression, HyperscanMissingError, compile_hyperscan
from firedup.profile.pattern import PatternError, parse_pattern
from firedup.profile.problem import Problem
from firedup.profile.read import builtin_files, join_files, user_files
from firedup.profile.schema import SHARED, Catalogue, Entry
from firedup.profile.stopped import where_it_stops
from firedup.profile.version import are_disjoint, parse_version

MIN_FIXED = 4
_NUMBERS = ("done", "total", "percent", "seconds", "exit_code", "signal", "port", "pid")


def check_paths(paths: Iterable[Path]) -> tuple[Problem, ...]:
    """All problems of the profile files or folders `paths`, judged beside the built-in rules."""
    joined = join_files((*builtin_files(), *user_files(paths)))
    own_paths = {str(file.path) for file in user_files(paths)}
    problems = [p for p in joined.problems if p.place.path in own_paths]
    problems += check_entries(joined.own, joined.catalogue)
    for profile in joined.catalogue.profiles:
        if profile.engine in joined.engines:
            problems += _unknown_folders(profile.engine, profile.extends, joined.catalogue, paths)
    return tuple(problems)


def check_entries(entries: Sequence[Entry], catalogue: Catalogue) -> tuple[Problem, ...]:
    """All problems of `entries`, whose examples are tried against the rules of `catalogue`."""
    problems: list[Problem] = []
    sound: list[Entry] = []
    for entry in entries:
        found = [*_check_pattern(entry), *_check_words(entry)]
        problems += found
        if not found:
            sound.append(entry)
    rivals = _Rivals(catalogue)
    for entry in sound:
        problems += _check_examples(entry, rivals)
    return tuple(problems)


def _unknown_folders(
    engine: str, extends: Sequence[str], catalogue: Catalogue, paths: Iterable[Path]
) -> list[Problem]:
    known = {entry.rule.engine or SHARED for entry in catalogue.entries} | {SHARED, engine}
    known |= set(catalogue.engines)
    place = next(iter(catalogue.entries)).place
    return [
        Problem(f'profile {engine}: extends "{folder}", which is no folder of rules', place)
        for folder in extends
        if folder not in known
    ]


def _label(rule: Rule) -> str:
    return f"profile {rule.engine or SHARED}, rule {rule.id}"


def _check_pattern(entry: Entry) -> list[Problem]:
    rule = entry.rule
    evidence = [f"pattern  {rule.pattern}"]
    try:
        shape = parse_pattern(rule.pattern)
    except PatternError as error:
        evidence.append(f"         {' ' * error.at}^ {error}")
        todo = "Patterns are the common subset of RE2 and Hyperscan; see docs/reference/profile-format.md."
        what = f"{_label(rule)}: the pattern cannot be used"
        return [Problem(what, entry.place, tuple(evidence), todo)]
    problems = []
    if shape.fixed_length < MIN_FIXED:
        has = f'"{min(shape.fixed, key=len)}"' if shape.fixed else "none"
        problems.append(
            Problem(
                f"{_label(rule)}: the pattern has no fixed text of {MIN_FIXED} characters",
                entry.place,
                (*evidence, f"longest that every match must hold: {has}"),
                "Add words that the line always holds; they make the search fast and precise.",
            )
        )
    expression = Expression(rule.pattern)
    try:
        re2.compile(expression.data, expression.options())
    except re2.error as error:
        reason = error.args[0].decode() if isinstance(error.args[0], bytes) else str(error)
        problems.append(
            Problem(
                f"{_label(rule)}: RE2 refuses the pattern", entry.place, (*evidence, reason)
            )
        )
    try:
        compile_hyperscan([expression])
    except HyperscanMissingError:
        pass
    except ValueError as error:
        problems.append(
            Problem(
                f"{_label(rule)}: Hyperscan refuses the pattern",
                entry.place,
                (*evidence, str(error)),
            )
        )
    return problems


def _check_words(entry: Entry) -> list[Problem]:
    """The rule's other keys, which must be complete and agree with each other."""
    rule = entry.rule
    names = set(Expression(rule.pattern).names())
    complaints: list[tuple[str, str | None]] = []

    def complain(what: str, todo: str | None = None) -> None:
        complaints.append((what, todo))

    if not (rule.stage or rule.failure or rule.finding or rule.role or rule.is_identity
            or rule.is_start or rule.is_stop):
        complain("says nothing", "Give it stage and edge, class and role, finding, or identity.")
    if rule.edge and not rule.stage:
        complain("has edge without stage")
    plain = not (rule.failure or rule.finding or rule.role)
    if rule.stage and not rule.edge and plain:
        complain("has stage without edge", 'Say edge = "begin", "progress" or "end".')
    if rule.failure and not rule.role:
        complain("has class without role", 'Say role = "cause", or "wrapper", "victim", "teardown".')
    if (rule.failure or rule.finding) and not rule.meaning:
        complain("needs meaning", "One sentence that a user understands.")
    if rule.failure and rule.role is Role.CAUSE and not (rule.remedy or rule.remedies):
        complain("needs remedy", "Say what the user can do.")
    if rule.role is Role.GAUGE:
        if not rule.gauges:
            complain("is a gauge without gauges", "List the captures that are readings.")
        if missing := [name for name in rule.gauges if name not in names]:
            complain(f"names gauges that the pattern does not capture: {', '.join(missing)}")
        if not rule.literal:
            complain("is a gauge without literal", "Give the fixed text that each such line holds.")
    elif rule.gauges or rule.literal:
        complain('has gauges or literal without role = "gauge"')
    if rule.edge is Edge.PROGRESS and "total" in names and "done" not in names:
        complain("captures total without done")
    if not rule.source:
        complain("needs source", "Say who prints the line, such as 'sglang model_runner.py'.")
    for key, text in (("since", rule.since), ("until", rule.until)):
        if text is not None and parse_version(text) is None:
            complain(f'{key} "{text}" is not a version', 'Such as "0.5.9".')
    since, until = (parse_version(text or "") for text in (rule.since, rule.until))
    if since and until and since > until:
        complain(f"since {rule.since} is after until {rule.until}")
    if not rule.matches:
        complain("needs matches", "At least one full line that the pattern must hit.")
    if not rule.misses:
        complain("needs misses", "At least one near miss that the pattern must not hit.")
    return [Problem(f"{_label(rule)}: {w}", entry.place, (), todo) for w, todo in complaints]


class _Rivals:
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
        data = line.encode()
        return [
            rival
            for rival, compiled in self._compiled
            if rival.engine in (None, rule.engine)
            and rival.name != rule.name
            and not are_disjoint(rule, rival)
            and compiled.search(data)
        ]


def _check_examples(entry: Entry, rivals: _Rivals) -> list[Problem]:
    rule, label, problems = entry.rule, _label(entry.rule), []
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
            what = f'{_label(entry.rule)}: the capture {name} is "{value.decode()}", not a number'
            problems.append(Problem(what, entry.place, (f"line     {line}",)))
    return problems


def main(arguments: Sequence[str]) -> int:
    """`python -m firedup.profile.check FOLDER…`: prints the problems; 1 when there are any."""
    try:
        problems = check_paths([Path(word) for word in arguments])
    except ProfileError as error:
        problems = ()
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stdout.write("\n\n".join(map(str, problems)) + ("\n\n" if problems else ""))
    sys.stdout.write(f"{len(problems)} problems\n" if problems else "no problems\n")
    return 1 if problems else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
