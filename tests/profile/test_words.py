"""Patterns that a user gives for one watch."""

from __future__ import annotations

import subprocess

import pytest

from firedup.core.error import UsageError
from firedup.core.model import Line, Stage
from firedup.core.rule import Role
from firedup.profile.load import load_catalogue
from firedup.profile.match import CatalogueMatcher
from firedup.profile.words import (
    LOOP_FAIL,
    LOOP_PROGRESS,
    LOOP_READY,
    add_patterns,
    pattern_rules,
    read_pattern,
)

SAID = [
    "The server is fired up and ready to roll!",
    "RuntimeError: no",
    "runtimeerror: no",
    "worker was Killed",
    "Load weight begin.",
    "capture nothing",
    "Capture cuda graph begin",
    "nothing of note",
]


def hits(rules, text: str) -> list[str]:
    return [hit.rule.id for hit in CatalogueMatcher(rules).match(Line(0, 0, 1, text, text))]


def test_the_rules_say_what_the_options_mean() -> None:
    ready, fail, progress = pattern_rules(ready=["is up"], fail=["went bad"], progress=["step"])

    assert ready.stage is Stage.READY
    assert fail.role is Role.CAUSE
    assert progress.stage is Stage.OTHER
    assert {ready.engine, fail.engine, progress.engine} == {None}


def test_a_pattern_that_meets_tracebacks_lets_the_cause_be_looked_for() -> None:
    (rule,) = pattern_rules(fail=[LOOP_FAIL])

    assert rule.role is Role.WRAPPER
    assert rule.is_final


def test_what_the_user_calls_a_failure_stays_one_whatever_follows() -> None:
    (rule,) = pattern_rules(fail=["(RuntimeErr|killed)"])

    assert (rule.role, rule.is_final, rule.failure) == (Role.CAUSE, True, "fail-pattern")
    assert hits([rule], "worker killed") == ["fail-pattern-1"]


def test_the_patterns_come_before_the_rules_of_a_catalogue_and_give_it_another_digest() -> None:
    catalogue = load_catalogue()
    added = add_patterns(catalogue, ready="(all )?up", fail=None, progress=None)

    assert [entry.rule.id for entry in added.entries[:1]] == ["ready-pattern-1"]
    assert added.entries[1:] == catalogue.entries
    assert added.digest != catalogue.digest
    assert add_patterns(catalogue, ready=None, fail=None, progress=None) is catalogue


def test_the_loops_words_meet_what_grep_meets() -> None:
    """The sibling with the real thing: the shell loop's own grep."""
    for pattern, flags in ((LOOP_READY, ""), (LOOP_FAIL, "-i"), (LOOP_PROGRESS, "")):
        (rule,) = pattern_rules(fail=[pattern])
        mine = [text for text in SAID if hits([rule], text)]
        theirs = subprocess.run(
            ["grep", f"-E{flags.removeprefix('-')}", pattern.removeprefix("(?i)")],
            input="\n".join(SAID),
            capture_output=True,
            text=True,
            check=False,
        )
        assert mine == theirs.stdout.splitlines()


def test_plain_groups_are_allowed() -> None:
    assert read_pattern("(fired|lit) (up|off)", "--ready-pattern") == "(?:fired|lit) (?:up|off)"


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("", "is empty"),
        ("(a", '"(" without ")"'),
        ("a(?=b)", "look-ahead is not in the subset"),
        ("[a", '"[" without "]"'),
        ("a|b*", "would meet every line"),
    ],
)
def test_a_bad_pattern_is_refused_by_the_name_of_its_option(pattern: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        pattern_rules(progress=[pattern])

    assert caught.value.what.startswith("--progress-pattern ")
    assert said in caught.value.what


def test_the_caret_stands_under_the_place() -> None:
    with pytest.raises(UsageError) as caught:
        read_pattern("words (?!not)", "--fail-pattern")

    pattern, caret = str(caught.value).splitlines()[1:3]
    assert pattern[caret.index("^")] == "("
