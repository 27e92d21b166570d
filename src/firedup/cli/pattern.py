"""The patterns that a user gives for one watch, as rules beside those of the catalogue."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from firedup.core.error import UsageError
from firedup.core.rule import Edge, Role, Rule
from firedup.core.word import Stage
from firedup.profile.pattern import PatternError, parse_pattern
from firedup.profile.schema import Catalogue, Entry, Place


def add_patterns(
    catalogue: Catalogue, *, ready: str | None, fail: str | None, progress: str | None
) -> Catalogue:
    """`catalogue` with rules for the patterns that are not None; they hold for every engine.

    Raises UsageError for a pattern that the catalogue's engines cannot search for.
    """
    rules = []
    if ready is not None:
        rules.append(_rule("ready", ready, Rule("", "", stage=Stage.READY, edge=Edge.BEGIN)))
    if fail is not None:
        judged = Rule(
            "",
            "",
            role=Role.CAUSE,
            failure="fail-pattern",
            meaning="The line meets the pattern that you gave for a failure.",
            remedy="Read the log around this line.",
            is_final=True,
        )
        rules.append(_rule("fail", fail, judged))
    if progress is not None:
        rules.append(
            _rule("progress", progress, Rule("", "", stage=Stage.OTHER, edge=Edge.PROGRESS))
        )
    if not rules:
        return catalogue
    entries = tuple(Entry(rule, Place(f"--{rule.id}", 1)) for rule in rules)
    text = "\0".join([catalogue.digest, *(f"{rule.id}={rule.pattern}" for rule in rules)])
    digest = hashlib.sha256(text.encode()).hexdigest()[:32]
    return replace(catalogue, entries=(*entries, *catalogue.entries), digest=digest)


def _rule(name: str, pattern: str, rule: Rule) -> Rule:
    try:
        parse_pattern(pattern)
    except PatternError as error:
        raise UsageError(
            f"--{name}-pattern cannot be used",
            evidence=f"pattern  {pattern}\n           {' ' * error.at}^ {error}",
            todo="Patterns are what RE2 and Hyperscan share; see docs/reference/profile-format.md.",
        ) from error
    return replace(rule, id=f"{name}-pattern", pattern=pattern, source=f"--{name}-pattern")
