"""Classes of failure are data: described once, used by rules, and known wherever code names one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import firedup
from firedup.core.event import Exited
from firedup.core.verdict.ending import cause_of_exit
from firedup.core.verdict.suspect import UNCLASSIFIED
from firedup.profile.load import load_catalogue
from firedup.profile.schema import Catalogue

PACKAGE = Path(firedup.__file__).parent
# What makes a cause or a rule, and where its class stands among the arguments.
MAKERS = {"Cause": 0, "_outside": 0, "Rule": None}


@pytest.fixture(scope="module")
def catalogue(tmp_path_factory: pytest.TempPathFactory) -> Catalogue:
    home = str(tmp_path_factory.mktemp("home"))
    return load_catalogue(environ={"XDG_CONFIG_HOME": home, "XDG_CACHE_HOME": home})


def named_in_code() -> Iterator[str]:
    """The classes that the package's own code writes out."""
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
                continue
            if node.func.id not in MAKERS:
                continue
            at = MAKERS[node.func.id]
            values = [word.value for word in node.keywords if word.arg == "failure"]
            values += node.args[at : at + 1] if at is not None else []
            yield from (str(value.value) for value in values if isinstance(value, ast.Constant))


def named_of_exits() -> Iterator[str]:
    for signal in range(1, 65):
        for oom_killed in (None, True, False):
            exited = Exited(0, 0, 1, signal=signal, oom_killed=oom_killed)
            yield cause_of_exit(exited, None, was_ready=False).failure


def test_every_class_that_code_names_is_described(catalogue: Catalogue) -> None:
    named = {*named_in_code(), *named_of_exits(), UNCLASSIFIED}

    assert {"port-in-use", "silent-exit", "segmentation-fault", "fail-pattern"} <= named
    assert named <= {described.id for described in catalogue.classes}


def test_every_class_is_used(catalogue: Catalogue) -> None:
    used = {entry.rule.failure for entry in catalogue.entries}
    used |= {*named_in_code(), *named_of_exits(), UNCLASSIFIED}

    assert [described.id for described in catalogue.classes if described.id not in used] == []


def test_every_built_in_class_says_all_that_its_page_shows(catalogue: Catalogue) -> None:
    poor = [
        described.id
        for described in catalogue.classes
        if not (described.title and described.remedy and described.sources)
    ]

    assert poor == []


def test_every_family_has_classes_and_a_meaning(catalogue: Catalogue) -> None:
    families = {described.family for described in catalogue.classes}

    assert families == {family.id for family in catalogue.families if family.meaning}


def test_a_remedy_by_stage_never_repeats_the_general_one(catalogue: Catalogue) -> None:
    rules = [entry.rule for entry in catalogue.entries]

    assert [rule.name for rule in rules if rule.remedy in rule.remedies.values()] == []


def test_a_cause_without_a_remedy_of_its_own_has_that_of_its_class(tmp_path: Path) -> None:
    profile = tmp_path / "toy.toml"
    profile.write_text(
        """\
engine = "toy"

[[rule]]
id = "full"
class = "disk-full"
role = "cause"
pattern = 'the box is full'
source = "toy"
matches = ["the box is full"]
misses = ["the box is empty"]
""",
        encoding="utf-8",
    )

    catalogue = load_catalogue([profile])

    described = catalogue.failure_class("disk-full")
    (rule,) = catalogue.rules_for("toy")[:1]
    assert described is not None
    assert (rule.meaning, rule.remedy) == (described.meaning, described.remedy)
    assert "HF_HOME" in rule.mentions
