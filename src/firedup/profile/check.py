"""What a catalogue must satisfy; `python -m firedup.profile.check FOLDER…` names what is wrong."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import re2

from firedup.core.error import ProfileError
from firedup.profile.complete import check_completeness
from firedup.profile.example import Rivals, check_examples
from firedup.profile.join import Joined, join_files
from firedup.profile.pattern import PatternError, parse_pattern
from firedup.profile.problem import Problem, label_of, nearest
from firedup.profile.read import builtin_files, user_files
from firedup.profile.regex import Expression, HyperscanMissingError, compile_hyperscan
from firedup.profile.schema import SHARED, Catalogue, Entry

MIN_FIXED = 4


def check_paths(paths: Iterable[Path]) -> tuple[Problem, ...]:
    """All problems of the profile files or folders `paths`, judged beside the built-in rules."""
    own = user_files(paths)
    joined = join_files((*builtin_files(), *own))
    own_paths = {file.path for file in own}
    problems = [problem for problem in joined.problems if problem.place.path in own_paths]
    return (*problems, *check_joined(joined))


def check_builtin() -> tuple[Problem, ...]:
    """All problems of the profiles that come with firedup."""
    joined = join_files(builtin_files())
    return (*joined.problems, *check_entries(joined.catalogue.entries, joined.catalogue))


def check_joined(joined: Joined, *, with_rules: bool = True) -> tuple[Problem, ...]:
    """The problems of what is not built in, apart from those met while reading."""
    known = {entry.rule.engine or SHARED for entry in joined.catalogue.entries}
    known |= {SHARED, *joined.catalogue.engines}
    problems = list(check_entries(joined.own, joined.catalogue)) if with_rules else []
    for profile in joined.catalogue.profiles:
        if profile.engine not in joined.engines:
            continue
        for folder in profile.extends:
            if folder not in known:
                near = nearest(folder, known)
                what = f'profile {profile.engine}: extends "{folder}", which is no folder of rules'
                todo = f'Did you mean "{near}"?' if near else None
                problems.append(Problem(what, joined.engines[profile.engine], (), todo))
    return tuple(problems)


def check_entries(entries: Sequence[Entry], catalogue: Catalogue) -> tuple[Problem, ...]:
    """All problems of `entries`, whose examples are tried against the rules of `catalogue`."""
    problems: list[Problem] = []
    sound: list[Entry] = []
    for entry in entries:
        found = check_rule(entry)
        problems += found
        if not found:
            sound.append(entry)
    problems += check_with_hyperscan(sound)
    rivals = Rivals(catalogue)
    for entry in sound:
        problems += check_examples(entry, rivals)
    return tuple(problems)


def check_rule(entry: Entry) -> list[Problem]:
    """The problems of a rule apart from its examples and from Hyperscan."""
    return [*_check_pattern(entry), *check_completeness(entry)]


def check_with_hyperscan(entries: Sequence[Entry]) -> list[Problem]:
    """The patterns that Hyperscan refuses; none where it is not installed."""
    expressions = [Expression(entry.rule.pattern) for entry in entries]
    try:
        if expressions:
            compile_hyperscan([expression.for_blocks for expression in expressions])
    except HyperscanMissingError:
        return []
    except ValueError as error:
        if len(entries) > 1:  # one of many: find it by halves
            middle = len(entries) // 2
            return [
                *check_with_hyperscan(entries[:middle]),
                *check_with_hyperscan(entries[middle:]),
            ]
        (entry,) = entries
        what = f"{label_of(entry.rule)}: Hyperscan refuses the pattern"
        return [Problem(what, entry.place, (f"pattern  {entry.rule.pattern}", str(error)))]
    return []


def _check_pattern(entry: Entry) -> list[Problem]:
    rule = entry.rule
    evidence: tuple[str, ...] = (f"pattern  {rule.pattern}",)
    try:
        shape = parse_pattern(rule.pattern)
    except PatternError as error:
        evidence += (f"         {' ' * error.at}^ {error}",)
        todo = "Patterns are what RE2 and Hyperscan share; see docs/reference/profile-format.md."
        what = f"{label_of(rule)}: the pattern cannot be used"
        return [Problem(what, entry.place, evidence, todo)]
    problems = []
    if shape.fixed_length < MIN_FIXED:
        has = f'"{min(shape.fixed, key=len)}"' if shape.fixed else "none"
        problems.append(
            Problem(
                f"{label_of(rule)}: the pattern has no fixed text of {MIN_FIXED} characters",
                entry.place,
                (*evidence, f"longest that every match must hold: {has}"),
                "Add words that the line always holds; they make the search fast and precise.",
            )
        )
    try:
        Expression(rule.pattern).compile_re2()
    except re2.error as error:
        reason = error.args[0].decode() if isinstance(error.args[0], bytes) else str(error)
        what = f"{label_of(rule)}: RE2 refuses the pattern"
        problems.append(Problem(what, entry.place, (*evidence, reason)))
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
    count = len(problems)
    sys.stdout.write(f"{count or 'no'} problem{'' if count == 1 else 's'}\n")
    return 1 if problems else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
