"""Versions as rules use them: numbers separated by dots, compared number by number."""

from __future__ import annotations

import re

from firedup.core.rule import Rule

_VERSION = re.compile(r"[vb]?(\d+(?:\.\d+)*)")


def parse_version(text: str) -> tuple[int, ...] | None:
    """The numbers of "0.5.9", "v0.11.0rc1" or llama.cpp's "b11434"; None for anything else."""
    found = _VERSION.match(text)
    return tuple(int(part) for part in found[1].split(".")) if found else None


def covers(rule: Rule, version: str | None) -> bool:
    """Whether `rule` speaks of `version` (`until` is the last that it speaks of).

    An unknown version is covered by every rule.
    """
    number = parse_version(version or "")
    if number is None:
        return True
    since, until = parse_version(rule.since or ""), parse_version(rule.until or "")
    if since is not None and number < since:
        return False
    return until is None or number[: len(until)] <= until


def are_disjoint(one: Rule, other: Rule) -> bool:
    """Whether no version is spoken of by both."""
    for first, second in ((one, other), (other, one)):
        until, since = parse_version(first.until or ""), parse_version(second.since or "")
        if until is not None and since is not None and since[: len(until)] > until:
            return True
    return False


def is_rival(one: Rule, other: Rule) -> bool:
    """Whether two rules that meet the same line contradict each other, of which one is right."""
    return one.engine == other.engine and one.role is other.role and are_disjoint(one, other)
