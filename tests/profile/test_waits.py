"""What is known of frames is held to its samples."""

from __future__ import annotations

from importlib.resources import files

import pytest

from firedup.core.error import ProfileError
from firedup.core.stack import KERNEL, Frame
from firedup.profile.wait import check_waits, find_wait, read_waits

WAITS = read_waits((files("firedup.profile") / "stack" / "wait.toml").read_text("utf-8"))


def test_every_sample_is_met_by_its_own_entry_alone() -> None:
    assert list(check_waits(WAITS)) == []


def test_a_sample_that_contradicts_is_named() -> None:
    text = """schema = 1
[[wait]]
id = "one"
meaning = "m"
pattern = 'a'
source = "s"
matches = ["b"]
misses = ["a"]
"""
    assert list(check_waits(read_waits(text))) == [
        "one: 'b' is met by nothing",
        "one: 'a' is met and must not be",
    ]


@pytest.mark.parametrize("text", ["schema = 2\nwait = []", "schema = 1\nodd = 1", "schema ="])
def test_what_is_no_such_file_is_refused(text: str) -> None:
    with pytest.raises(ProfileError):
        read_waits(text)


def test_a_frame_that_nobody_knows_means_nothing() -> None:
    assert find_wait(Frame("forward", "model.py", 3)) is None
    stopped = find_wait(Frame("pipe_write", KERNEL))
    assert stopped is not None
    assert stopped.id == "pipe-full"
