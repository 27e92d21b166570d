"""No line of a log, whatever it holds, takes more than time in proportion to its length."""

import time
from dataclasses import replace
from itertools import pairwise

import pytest

from firedup.core.model import Line
from firedup.view.phrase import say_last_line
from firedup.view.redact import MOST_LETTERS, clean, redact_argv
from tests.view import story

PIECES = (
    *("a-", "A_", "a_", "secret-", "A_KEY=", "token=", "token: ", "password="),
    *("api_key=[", "api_key='", 'api_key="', 'api_key=\\"', "b'", "'\"'\"'", "\\", "["),
    *("--a-", "--api-key ", "--api-key=x ", "--api-key', 'x', ", "--api-key x1.", "-k ", "\t"),
    *("sk-", "hf_", "hf_a", "gh_", "AKIA", "eyJaaaaaaaa.", "eyJaaaaaa", "://", "://a:", "@"),
    *("?a_", "&token=", "&a.", "Bearer ", "bearer x ", "authorization:", "cookie:"),
    *("\x90", "\x1b]", "\x1b[", "\x9b0", "\x1b ", "[redacted]"),
)
FACTOR = 8


def cost_s(text):
    """The least CPU time of three, so that what else the machine does counts little."""
    costs = []
    for _ in range(3):
        begun_s = time.process_time()
        clean(text)
        costs.append(time.process_time() - begun_s)
    return min(costs)


@pytest.mark.parametrize("piece", [*PIECES, *(f"{a}{b}" for a, b in pairwise(PIECES))])
def test_a_long_line_costs_in_proportion_to_its_length(piece):
    text = piece * (1500 // len(piece))

    # Eight times the text costs eight times the time, and 64 times where a pattern starts anew
    # after each letter.
    assert cost_s(text * FACTOR) < 3 * FACTOR * max(cost_s(text), 0.0005)


def test_a_last_line_without_end_is_cut_before_it_is_cleaned():
    text = f"begins with words {'x' * 50_000} --api-key rosebud"
    seen = replace(story.loading(), last_line=Line(0, len(text), 1, text, text))

    assert len(say_last_line(seen)) <= MOST_LETTERS
    assert say_last_line(seen) == "begins with words"


def test_a_command_line_of_flags_costs_in_proportion():
    words = ("--api-key", "-k", "a-" * 50) * 400

    assert len(redact_argv(words)) == len(words)
