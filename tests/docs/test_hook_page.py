"""The page about hooks names exactly what is told, and the numbers of the program."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from reader import ROOT

from firedup.host.agent.hook import HOOK_EVENTS, make_payload
from firedup.host.agent.tell import hook_environment
from firedup.session import recipe

FACTS = {
    "verdict": "crashed",
    "cause": "killed",
    "cause_line": "line",
    "exit_code": 1,
    "served_s": 1.5,
}
MANIFEST: dict[str, Any] = {"id": "i", "name": "n", "log": "/l", "spec": {"engine": "sglang"}}


@pytest.fixture(scope="module")
def page() -> str:
    return (ROOT / "docs" / "reference" / "hooks.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    return make_payload(MANIFEST, "crashed", FACTS, "keeper")


def rows(page: str, heading: str) -> list[str]:
    """The names in the first column of the table below `heading`."""
    part = page.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    cells = re.findall(r"^\| (`[^|]+`) \| ", part, re.MULTILINE)
    return re.findall(r"`(\w+)`", " ".join(cells))


def test_the_page_has_exactly_the_events_there_are(page: str) -> None:
    assert sorted(rows(page, "Events")) == sorted(HOOK_EVENTS)


def test_the_page_has_exactly_the_keys_of_the_object(page: str, told: dict[str, Any]) -> None:
    example = json.loads(re.findall(r"```json\n(.+?)```", page, re.DOTALL)[0])

    assert sorted(rows(page, "The object")) == sorted(told)
    assert list(example) == list(told)
    for key in ("run", "cause", "exit"):
        assert set(example[key]) == set(told[key])


def test_the_page_has_exactly_the_variables_of_a_command(page: str, told: dict[str, Any]) -> None:
    names = {name for name in hook_environment(told) if name.startswith("FIREDUP_")}

    assert set(rows(page, "Commands")) == names


def test_the_times_of_the_page_are_those_of_the_program(page: str) -> None:
    assert f"leaves it {recipe.CLIENT_GRACE_S:.0f} s to tell first" in page
    first, last = recipe.HEALTH_PAUSES_S
    assert f"asks every {first:.0f} to {last:.0f} s" in page
    first, last = recipe.TOKEN_PAUSES_S
    assert f"no token comes every {first:.0f} to {last:.0f} s" in page
    pauses = " and ".join(f"{pause_s:.0f}" for pause_s in recipe.POST_PAUSES_S)
    assert f"tried three times, {pauses} s apart" in page
    assert len(recipe.POST_PAUSES_S) == 2
    assert (recipe.LIMITS.patience_s, "ten minutes" in page) == (600, True)
