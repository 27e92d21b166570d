"""The reference page is complete, and its example is a profile that works."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from firedup.core.model import Line, Stage
from firedup.core.rule import Role, Rule
from firedup.profile.check import check_paths
from firedup.profile.command import read_command
from firedup.profile.load import load_catalogue
from firedup.profile.match import CatalogueMatcher
from firedup.profile.schema import (
    Command,
    Compose,
    EngineProfile,
    FailureClass,
    Family,
    FlagTable,
    Http,
    StopRow,
)

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "profile-format.md").read_text("utf-8")
TEXT, EXAMPLE = re.findall(r"```(?:text|toml)\n(.*?)```", PAGE, re.DOTALL)

# Where the key of a file is called otherwise than the attribute.
KEYS = {"failure": "class", "is_identity": "identity", "is_start": "start", "is_stop": "stop"}
KEYS |= {"is_final": "final"}
PLACES = {"place", "family_place"}  # where a table lies, which no key says
KINDS = [EngineProfile, Command, FlagTable, Compose, Http, StopRow, Rule, FailureClass, Family]


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    path = tmp_path / "toy.toml"
    path.write_text(EXAMPLE, encoding="utf-8")
    return path


def test_the_example_has_no_problems(profile: Path) -> None:
    assert check_paths([profile]) == ()


def test_the_example_understands_the_lines_shown(profile: Path) -> None:
    rules = load_catalogue([profile]).rules_for("toy")
    matcher = CatalogueMatcher(rules)

    hit = [matcher.match(Line(0, 0, 1, text, text)) for text in TEXT.splitlines()]

    assert [[h.rule.id for h in hits] for hits in hit] == [
        ["starting"], ["loading-parts"], ["parts-loaded"], ["up"], ["speed"], ["out-of-toys"],
    ]  # fmt: skip


def test_the_example_reads_its_command(profile: Path) -> None:
    spec = read_command(["toy-server", "--model", "M"], {}, load_catalogue([profile]))

    assert (spec.engine, spec.model, spec.port) == ("toy", "M", 9000)


@pytest.mark.parametrize("kind", KINDS)
def test_every_key_is_described(kind: type) -> None:
    names = [field.name for field in dataclasses.fields(kind) if field.name not in PLACES]
    missing = [n for n in names if not re.search(rf"[`\[]{KEYS.get(n, n)}[`\]]", PAGE)]

    assert missing == []


def test_every_stage_and_role_is_named() -> None:
    assert [value for value in (*Stage, *Role) if f"`{value}`" not in PAGE] == []
