"""A line that is alone with its bad news ends no server that comes up after it."""

import re
from functools import cache
from pathlib import Path

import pytest
from compiled import builtin_matcher

from firedup.core.event import Ended, LogData
from firedup.core.model import Explanation, Line, Verdict
from firedup.core.rule import Role, Rule
from firedup.profile.load import load_catalogue
from firedup.profile.pipeline import Pipeline

RUNS = Path(__file__).parent.parent / "data" / "engine-runs"
# A healthy run, and the first line that its server prints when it is up.
HEALTHY = {
    "sglang": ("sglang/s01_success.log", b"The server is fired up and ready to roll!"),
    "vllm": ("vllm/a_base.log", b"Application startup complete."),
    "llama-cpp": ("llama-cpp/lcb-sigterm-after-ready.log", b"llama_server: listening on"),
}
# What any engine may print stands in the log of one of them, in turn: three times the cost tells
# no more, since it is the line that is judged.
ENGINES = tuple(HEALTHY)
CAUSES = [
    (rule, rule.engine or ENGINES[number % len(ENGINES)])
    for number, rule in enumerate(entry.rule for entry in load_catalogue().entries)
    if rule.role is Role.CAUSE and rule.engine != "generic"
]


@cache
def parts(engine: str) -> tuple[bytes, bytes]:
    """The log up to its ready line, and from there on."""
    log, ready = HEALTHY[engine]
    data = (RUNS / log).read_bytes()
    start = data.rindex(b"\n", 0, data.index(ready)) + 1
    return data[:start], data[start:]


def is_bare(line: str, engine: str) -> bool:
    """Whether no word of a death stands in the line as well, such as those of the C library."""
    hits = builtin_matcher().match(Line(0, 0, 1, line, line))
    return not any(h.rule.role is Role.WRAPPER and h.rule.engine in (None, engine) for h in hits)


def explain(data: bytes) -> Explanation:
    pipeline = Pipeline(builtin_matcher(), year=2026)
    for event in (LogData(0, 0, 0, data), Ended(0)):
        pipeline.feed(event)
    return pipeline.snapshot(0).explanation


def as_warning(line: str) -> bytes:
    """The example as a warning: its level, if it has one, is that of a warning."""
    return re.sub(r"\b(?:ERROR|CRITICAL|FATAL)\b", "WARNING", line).encode() + b"\n"


@pytest.mark.parametrize(
    ("rule", "engine"), CAUSES, ids=[f"{rule.name}-{engine}" for rule, engine in CAUSES]
)
def test_a_bare_cause_is_outlived_by_a_server_that_comes_up(rule: Rule, engine: str) -> None:
    before, after = parts(engine)

    for line in filter(lambda line: is_bare(line, engine), rule.matches):
        verdict = explain(before + as_warning(line) + after).verdict
        assert (verdict is Verdict.CRASHED) <= rule.is_final, line
