"""Whether a rule says all that its kind must say, and nothing that contradicts itself."""

from __future__ import annotations

from collections.abc import Iterator

from firedup.core.rule import Edge, Role, Rule
from firedup.core.version import parse_version
from firedup.profile.problem import Problem, label_of
from firedup.profile.regex import Expression
from firedup.profile.schema import Entry


def check_completeness(entry: Entry) -> list[Problem]:
    """The problems of everything in a rule except its pattern and examples."""
    rule = entry.rule
    complaints = [
        *_kind(rule),
        *_texts(rule),
        *_gauge(rule),
        *_versions(rule),
    ]
    return [
        Problem(f"{label_of(rule)}: {what}", entry.place, (), todo) for what, todo in complaints
    ]


def _kind(rule: Rule) -> Iterator[tuple[str, str | None]]:
    flags = rule.is_identity or rule.is_start or rule.is_stop
    judges = rule.failure or rule.finding or rule.role
    if not (rule.stage or judges or flags):
        yield "says nothing", "Give it stage and edge, class and role, finding, or identity."
    if rule.edge and not rule.stage:
        yield "has edge without stage", None
    if rule.stage and not rule.edge and not judges:
        yield "has stage without edge", 'Say edge = "begin", "progress" or "end".'
    if rule.failure and not rule.role:
        yield (
            "has class without role",
            'Say role = "cause", "kind", "wrapper", "victim" or "teardown".',
        )
    if rule.role is Role.KIND and not rule.failure:
        yield 'has role = "kind" without class', "Say which class of failure it names."
    if rule.is_stop and not rule.role:
        yield "has stop without role", 'Say role = "teardown".'
    names = Expression(rule.pattern).names()
    if rule.edge is Edge.PROGRESS and "total" in names and "done" not in names:
        yield "captures total without done", "Capture (?P<done>…), or make it begin or end."


def _texts(rule: Rule) -> Iterator[tuple[str, str | None]]:
    if (rule.failure or rule.finding) and not rule.meaning:
        yield "needs meaning", "One sentence that a user understands."
    is_shown = rule.role in (Role.CAUSE, Role.KIND)
    if rule.failure and is_shown and not (rule.remedy or rule.remedies):
        yield "needs remedy", "Say what the user can do."
    if not rule.source:
        yield "needs source", "Say who prints the line, such as 'sglang model_runner.py'."
    if not rule.matches:
        yield "needs matches", "At least one full line that the pattern must hit."
    if not rule.misses:
        yield "needs misses", "At least one near miss that the pattern must not hit."


def _gauge(rule: Rule) -> Iterator[tuple[str, str | None]]:
    if rule.role is not Role.GAUGE:
        if rule.gauges or rule.literal:
            yield 'has gauges or literal without role = "gauge"', None
        return
    names = Expression(rule.pattern).names()
    if not rule.gauges:
        yield "is a gauge without gauges", "List the captures that are readings."
    if missing := [name for name in rule.gauges if name not in names]:
        yield f"names gauges that the pattern does not capture: {', '.join(missing)}", None
    if not rule.literal:
        yield "is a gauge without literal", "Give the fixed text that each such line holds."


def _versions(rule: Rule) -> Iterator[tuple[str, str | None]]:
    for key, text in (("since", rule.since), ("until", rule.until)):
        if text is not None and parse_version(text) is None:
            yield f'{key} "{text}" is not a version', 'Such as "0.5.9".'
    since, until = (parse_version(text or "") for text in (rule.since, rule.until))
    if since and until and since > until:
        yield f"since {rule.since} is after until {rule.until}", None
