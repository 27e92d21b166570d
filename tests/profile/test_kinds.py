"""Rules that only name a kind: they give a failure its class, and never make a line one."""

from __future__ import annotations

import pytest
from compiled import builtin_matcher

from firedup.core.event import Ended, LogData
from firedup.core.model import Explanation, Line, Verdict
from firedup.core.rule import Role, Rule
from firedup.core.verdict.suspect import role_of
from firedup.profile.load import load_catalogue
from firedup.profile.pipeline import Pipeline

KINDS = [entry.rule for entry in load_catalogue().entries if entry.rule.role is Role.KIND]
START = "[2026-03-04 09:00:00] server_args=ServerArgs(model_path='/models/alpha')\n"
TRACE = "[2026-03-04 09:00:05 TP0] Could not tune alpha: Traceback (most recent call last):\n"
FRAME = '  File "/opt/sglang/srt/alpha.py", line 7, in make\n    raise error\n'


def explain(text: str) -> Explanation:
    pipeline = Pipeline(builtin_matcher(), year=2026)
    for event in (LogData(0, 0, 0, text.encode()), Ended(0)):
        pipeline.feed(event)
    return pipeline.snapshot(0).explanation


def failing(error: str) -> str:
    return f"{START}{TRACE}{FRAME}{error}\n"


@pytest.mark.parametrize("rule", KINDS, ids=lambda rule: rule.id)
def test_what_comes_before_it_leaves_a_kind_its_examples(rule: Rule) -> None:
    for text in rule.matches:
        role, _, named = role_of(builtin_matcher().match(Line(0, 0, 1, text, text)))

        assert role is None, text
        assert named is not None
        assert named.id == rule.id, text


@pytest.mark.parametrize("rule", KINDS, ids=lambda rule: rule.id)
def test_a_kind_gives_an_error_its_class_and_remedy(rule: Rule) -> None:
    for text in rule.matches:
        cause = explain(failing(text)).cause

        assert cause is not None
        assert (cause.line, cause.failure, cause.role) == (text, rule.failure, "unclassified")
        assert cause.remedy


def test_a_kind_is_less_sure_than_a_rule_that_knows_the_line() -> None:
    kind = explain(failing("ValueError: alpha_beta must be positive"))
    known = explain(
        failing("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.")
    )

    assert kind.cause is not None
    assert kind.cause.failure == "bad-configuration"
    assert kind.confidence < known.confidence


def test_an_error_that_a_start_outlives_is_forgiven_whatever_its_kind() -> None:
    text = failing("ValueError: alpha_beta must be positive")
    later = "[2026-03-04 09:00:09 TP0] Load weight begin. avail mem=78.00 GB\n"

    assert explain(text).verdict is Verdict.CRASHED
    assert explain(text + later).verdict is Verdict.LOADING


def test_the_first_error_of_a_chain_stays_the_cause_when_only_the_last_has_a_kind() -> None:
    link = "\nThe above exception was the direct cause of the following exception:\n\n"
    last = f"Traceback (most recent call last):\n{FRAME}ValueError: alpha_beta must be positive\n"
    cause = explain(f"{failing('AlphaError: 7')}{link}{last}").cause

    assert cause is not None
    assert (cause.line, cause.failure) == ("AlphaError: 7", "unclassified")


def test_a_word_of_a_kind_in_an_ordinary_line_means_nothing() -> None:
    line = "[2026-03-04 09:00:05 TP0] The tokenizer must be one of alpha, beta\n"

    assert explain(START + line).cause is None
