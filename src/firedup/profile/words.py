"""Makes rules of the patterns that a user gives for one watch, as the shell loop took them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

import re2

from firedup.core.error import UsageError
from firedup.core.model import Stage
from firedup.core.rule import Edge, Role, Rule
from firedup.profile.pattern import PatternError, parse_pattern
from firedup.profile.regex import Expression
from firedup.profile.schema import Catalogue, Entry, Place

# The words of the loop that people use today; for `watch --format classic` and unknown programs.
LOOP_READY = "fired up"
LOOP_FAIL = "(?i)RuntimeError|Traceback|CUDA error|killed|Segfault"
LOOP_PROGRESS = "Load weight|Memory pool|cuda graph|Capture|EAGLE|specul|draft|fired up"
# What the classic format shows of these. The line in which SGLang repeats its own arguments holds
# most of the words and is no progress.
LOOP_HIGHLIGHT = rf"^(?!.*\bserver_args=).*(?:{LOOP_PROGRESS})"


def add_patterns(
    catalogue: Catalogue, *, ready: str | None, fail: str | None, progress: str | None
) -> Catalogue:
    """`catalogue` with rules for the patterns that are not None, before all its own rules.

    Raises UsageError as `pattern_rules` does.
    """
    rules = pattern_rules(
        **{
            name: () if pattern is None else (pattern,)
            for name, pattern in (("ready", ready), ("fail", fail), ("progress", progress))
        }
    )
    if not rules:
        return catalogue
    entries = tuple(Entry(rule, Place(rule.source, 1)) for rule in rules)
    text = "\0".join([catalogue.digest, *(f"{rule.id}={rule.pattern}" for rule in rules)])
    digest = hashlib.sha256(text.encode()).hexdigest()[:32]
    return replace(catalogue, entries=(*entries, *catalogue.entries), digest=digest)


def pattern_rules(
    *,
    ready: Sequence[str] = (),
    fail: Sequence[str] = (),
    progress: Sequence[str] = (),
) -> tuple[Rule, ...]:
    """Rules for `--ready-pattern`, `--fail-pattern` and `--progress-pattern`, for any engine.

    Patterns are case-sensitive unless they begin with (?i); plain groups are allowed. Raises
    UsageError that names the option and the place.
    """
    rules = []
    for index, text in enumerate(ready, start=1):
        pattern = read_pattern(text, "--ready-pattern")
        rules.append(
            Rule(
                id=f"ready-pattern-{index}",
                pattern=pattern,
                stage=Stage.READY,
                edge=Edge.BEGIN,
                source="--ready-pattern",
            )
        )
    for index, text in enumerate(fail, start=1):
        pattern = read_pattern(text, "--fail-pattern")
        rules.append(_fail_rule(f"fail-pattern-{index}", pattern))
    for index, text in enumerate(progress, start=1):
        pattern = read_pattern(text, "--progress-pattern")
        rules.append(
            Rule(
                id=f"progress-pattern-{index}",
                pattern=pattern,
                stage=Stage.OTHER,
                edge=Edge.PROGRESS,
                source="--progress-pattern",
            )
        )
    return tuple(rules)


def _fail_rule(identifier: str, pattern: str) -> Rule:
    # The first line of a traceback says that there is a failure, its last line says which: so a
    # pattern that meets the first line is a wrapper and lets the cause be looked for.
    meets_traceback = (
        Expression(pattern).compile_re2().search(b"Traceback (most recent call last):")
    )
    return Rule(
        id=identifier,
        pattern=pattern,
        role=Role.WRAPPER if meets_traceback else Role.CAUSE,
        failure="fail-pattern",
        meaning="A line met the pattern that means a crash.",
        remedy="Read the lines around it.",
        is_final=True,  # whoever asks for it means it, even where the server seems to go on
        source="--fail-pattern",
    )


def read_pattern(text: str, option: str) -> str:
    """`text` in the subset of both engines, plain groups made nameless; raises UsageError."""
    if not text:
        raise UsageError(f"{option} is empty", todo="Give the words to look for.")
    pattern = text
    while (problem := _problem_of(pattern)) is not None:
        at = problem.at
        is_plain_group = pattern[at : at + 1] == "(" and pattern[at + 1 : at + 2] != "?"
        if not is_plain_group:
            raise UsageError(
                f"{option} cannot be used: {problem}",
                evidence=f"pattern  {pattern}\n           {' ' * at}^",
                todo="Look-around and back-references are not supported; \\( is a bracket.",
            )
        pattern = f"{pattern[:at]}(?:{pattern[at + 1 :]}"
    try:
        compiled = Expression(pattern).compile_re2()
    except re2.error as error:
        raise UsageError(
            f"{option} cannot be used: {error}", evidence=f"pattern  {text}"
        ) from error
    if compiled.search(b""):
        raise UsageError(f"{option} would meet every line", evidence=f"pattern  {text}")
    return pattern


def _problem_of(pattern: str) -> PatternError | None:
    try:
        parse_pattern(pattern)
    except PatternError as error:
        return error
    return None
