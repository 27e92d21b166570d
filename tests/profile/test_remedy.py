import re
from pathlib import Path

import pytest

import firedup
from firedup.cli.overview import HELP

PACKAGE = Path(firedup.__file__).parent
QUOTED = re.compile(r"`firedup ([a-z]+)|\bfiredup ([a-z]+) (?:RUN|LOG|TARGET|--)")
PLACES = [
    *(PACKAGE / "profile" / "catalogue").rglob("*.toml"),
    *(path for name in ("core", "session", "drafter") for path in (PACKAGE / name).glob("*.py")),
]


@pytest.mark.parametrize("path", PLACES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_advice_names_only_commands_that_exist(path):
    named = {a or b for a, b in QUOTED.findall(path.read_text(encoding="utf-8"))}

    assert named <= set(HELP)
