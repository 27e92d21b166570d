"""Which of the files beside a log came after which."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from firedup.host.agent.sibling import list_siblings, open_between

NS = 1_000_000_000


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Rotated thrice within one tick of the clock: .3 first; the inodes are in no order."""
    made = tmp_path / "server.log"
    for number in (2, 3, 1):
        moved = tmp_path / f"server.log.{number}"
        moved.write_text(f"the log that was the {number}. before\n")
        os.utime(moved, ns=(NS, NS))
    made.touch()
    return made


def test_of_two_changed_in_one_tick_the_higher_number_is_the_older(log: Path) -> None:
    assert [Path(path).suffix for path, _ in list_siblings(str(log))] == [".3", ".2", ".1"]


@pytest.mark.parametrize(("old", "following"), [(3, 2), (2, 1), (1, None)])
def test_the_one_that_follows_has_the_next_lower_number(
    log: Path, old: int, following: int | None
) -> None:
    with Path(f"{log}.{old}").open() as file:
        found = open_between(str(log), file.fileno(), {}, [])

    assert (found < 0) == (following is None)
    if following is not None:
        with os.fdopen(found) as file:
            assert file.read() == f"the log that was the {following}. before\n"


def test_dates_are_no_such_numbers(tmp_path: Path) -> None:
    for date in (20261130, 20261129):
        moved = tmp_path / f"server.log.{date}"
        moved.touch()
        os.utime(moved, ns=(date * NS, date * NS))

    assert [path[-2:] for path, _ in list_siblings(str(tmp_path / "server.log"))] == ["29", "30"]
