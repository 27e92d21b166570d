"""What to do may hang on the engine's version and on the stage; both choose, neither hides."""

from __future__ import annotations

from firedup.core.log.block import Mark, Shape
from firedup.core.model import Cause, Line, Source, Stage
from firedup.core.rule import Hit, Role, Rule
from firedup.core.verdict.diagnosis import Diagnosis
from firedup.core.verdict.startup import Moment


def rule(name: str, remedy: str, since: str | None = None, until: str | None = None) -> Rule:
    return Rule(
        name,
        "",
        "sglang",
        role=Role.CAUSE,
        failure="memory",
        remedy=remedy,
        since=since,
        until=until,
    )


OLD = rule("old", "Lower --cuda-graph-max-bs.", until="0.5.15")
NEW = rule("new", "Lower --cuda-graph-max-bs-decode.", since="0.5.16")


def cause(*rules: Rule, version: str | None, stage: Stage = Stage.GRAPH_CAPTURE) -> Cause:
    diagnosis = Diagnosis()
    line = Line(0, 1, 1, "RuntimeError: full", "RuntimeError: full")
    hits = [Hit(found, line) for found in rules]
    mark = Mark(Shape.EXCEPTION, Source(), 1)
    diagnosis.feed(line, mark, hits, stage, Moment(None, None), is_ready=False)
    found = diagnosis.cause(version=version)
    assert found is not None
    return found


def test_the_version_chooses_between_remedies_that_contradict_each_other() -> None:
    assert cause(OLD, NEW, version="0.5.9").remedy == OLD.remedy
    assert cause(OLD, NEW, version="0.5.16").remedy == NEW.remedy
    assert cause(OLD, NEW, version="0.5.16").rule == "sglang/new"


def test_where_the_version_is_not_known_all_of_them_are_said() -> None:
    assert cause(NEW, OLD, version=None).remedy == (
        "From version 0.5.16: Lower --cuda-graph-max-bs-decode."
        " Up to version 0.5.15: Lower --cuda-graph-max-bs."
    )


def test_a_version_that_no_rule_speaks_of_suppresses_none() -> None:
    found = cause(NEW, version="0.4.1")

    assert (found.failure, found.remedy) == ("memory", NEW.remedy)


def test_rules_that_agree_on_what_to_do_say_it_once() -> None:
    alike = rule("new", "Lower it.", since="0.5.16"), rule("old", "Lower it.", until="0.5.15")

    assert cause(*alike, version=None).remedy == "Lower it."


def test_the_stage_is_part_of_a_name_that_is_told_by_stage() -> None:
    full = Rule("oom", "", "sglang", role=Role.CAUSE, failure="memory", by_stage=True)

    assert cause(full, version=None).failure == "memory-graph-capture"
    assert cause(full, version=None, stage=Stage.OTHER).failure == "memory"
    assert cause(OLD, version=None).failure == "memory"
