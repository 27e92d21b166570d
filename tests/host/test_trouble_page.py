"""The page of link troubles is held to the code."""

import re
from pathlib import Path

from firedup.host.base import Trouble
from firedup.host.beat import Beat
from firedup.host.ssh import OPTIONS
from firedup.host.sshsetup import CLIENT_VARIABLE
from firedup.session.linked import FIRST_PAUSE_S, MOST_PAUSE_S

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "link-troubles.md").read_text("utf-8")


def test_every_trouble_has_its_row() -> None:
    assert re.findall(r"^\| `([a-z-]+)` \|", PAGE, re.MULTILINE) == [str(t) for t in Trouble]


def test_times_and_names_are_those_of_the_program() -> None:
    assert Beat().dead_s == 15.0
    assert "nothing came over it for 15 seconds" in PAGE
    assert (FIRST_PAUSE_S, MOST_PAUSE_S) == (0.25, 30.0)
    assert "a quarter of a second" in PAGE
    assert "half a minute at most" in PAGE
    assert f"`{CLIENT_VARIABLE}`" in PAGE
    assert "BatchMode=yes" in OPTIONS
    assert not [option for option in OPTIONS if option.startswith("StrictHostKeyChecking")]
