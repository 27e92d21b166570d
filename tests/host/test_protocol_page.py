import re
from importlib import import_module
from pathlib import Path

import pytest

from firedup.host.agent import main
from firedup.host.frame import Kind

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
OPERATIONS = {**main.QUICK, **main.SHORT, **main.SLOW, **main.LIVE}


@pytest.fixture(scope="module")
def page() -> str:
    return (REFERENCE / "agent-protocol.md").read_text(encoding="utf-8")


def test_the_page_lists_exactly_the_operations_there_are(page: str) -> None:
    table = page.partition("| op | arguments | result |")[2].partition("\n\n")[0]

    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == set(OPERATIONS)


@pytest.mark.parametrize("place", OPERATIONS.values())
def test_each_operation_is_where_it_is_looked_for(place: str) -> None:
    module, _, name = place.partition(".")

    assert callable(getattr(import_module(f"firedup.host.agent.{module}"), name))


def test_the_page_lists_exactly_the_frames_there_are(page: str) -> None:
    rows = re.findall(r"^\| (\d) \| ([A-Z]+) \|", page, re.MULTILINE)

    assert {name: int(number) for number, name in rows} == {k.name: int(k) for k in Kind}
