"""Versions as rules use them."""

from __future__ import annotations

import pytest

from firedup.core.rule import Rule
from firedup.core.version import are_disjoint, covers, parse_version


def rule(since: str | None, until: str | None) -> Rule:
    return Rule(id="r", pattern="text", since=since, until=until)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("0.5.9", (0, 5, 9)),
        ("v0.11.0rc1", (0, 11, 0)),
        ("0.4.7.post1-cu124", (0, 4, 7)),
        ("b11434", (11434,)),
        ("main", None),
        ("", None),
    ],
)
def test_the_numbers_of_a_version(text: str, numbers: tuple[int, ...] | None) -> None:
    assert parse_version(text) == numbers


@pytest.mark.parametrize(
    ("since", "until", "version", "is_covered"),
    [
        ("0.5.9", None, "0.5.10", True),
        ("0.5.9", None, "0.5.8", False),
        (None, "0.5.12", "0.5.12", True),
        (None, "0.5.12", "0.5.12.post1", True),
        (None, "0.5", "0.5.23", True),
        (None, "0.5.12", "0.5.13", False),
        ("0.5.9", "0.5.12", None, True),
        ("0.5.9", "0.5.12", "main", True),
    ],
)
def test_a_rule_covers_its_versions_and_the_unknown_one(
    since: str | None, until: str | None, version: str | None, is_covered: bool
) -> None:
    assert covers(rule(since, until), version) is is_covered


def test_ranges_that_do_not_meet_are_disjoint() -> None:
    assert are_disjoint(rule(None, "0.5.12"), rule("0.5.16", None))
    assert are_disjoint(rule("0.5.16", None), rule(None, "0.5.12"))
    assert not are_disjoint(rule(None, "0.5.16"), rule("0.5.16", None))
    assert not are_disjoint(rule(None, None), rule("0.5.16", None))
