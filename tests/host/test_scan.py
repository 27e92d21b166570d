"""The keeper finds a sign in a log however the bytes arrive."""

import tempfile
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firedup.host.agent.scan import LogScan, Signs, find_in_tail

ROWS = [{"pattern": "fired (?:up|on)$", "fixed": ["fired "]}, {"pattern": "^ready"}]
TEXT = (
    b"one\n\x1b[1mtwo\x1b[0m fired over\nbar 1\rbar 2\r\nsrv \x1b[32mfired\x1b[0m up\r\nnot ready\n"
)


@given(st.lists(st.integers(0, len(TEXT)), max_size=8))
def test_slicing_the_bytes_differently_changes_nothing(cuts: list[int]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "log")
        scan = LogScan(str(path), 0, Signs(ROWS))
        edges = [0, *sorted(cuts), len(TEXT)]
        looks = []
        for first, end in pairwise(edges):
            with path.open("ab") as file:
                file.write(TEXT[first:end])
            looks.append(scan.look(path.stat().st_size))

    assert looks.count(True) == 1


@pytest.mark.parametrize(
    ("text", "is_there"),
    [
        (b"fired up\n", True),
        (b"FIRED UP\n", False),
        (b"fired up", False),  # the line may go on
        (b"fired upwards\n", False),
        (b"ready\n", True),
        (b"not ready\n", False),
        (b"bar\rready\r", True),
    ],
)
def test_a_pattern_stands_for_whole_lines(tmp_path: Path, text: bytes, is_there: bool) -> None:
    path = tmp_path / "log"
    path.write_bytes(text)

    assert LogScan(str(path), 0, Signs(ROWS)).look(len(text)) == is_there


def test_what_stood_there_before_the_launch_does_not_count(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"fired up\n")
    scan = LogScan(str(path), 9, Signs(ROWS))

    assert not scan.look(9)
    assert not find_in_tail(str(path), 9, Signs(ROWS))
    assert find_in_tail(str(path), 0, Signs(ROWS))


def test_a_log_that_was_moved_away_or_cut_is_read_from_its_new_beginning(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"one\ntwo\n")
    scan = LogScan(str(path), 0, Signs(ROWS))
    assert not scan.look(8)

    path.rename(tmp_path / "log.1")
    path.write_bytes(b"ready\n")
    assert scan.look(6)

    path.write_bytes(b"")
    assert not scan.look(0)
    path.write_bytes(b"ready\n")
    assert scan.look(6)


def test_a_log_that_grows_faster_than_it_is_read_is_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"x" * 79 + b"\n" + b"y" * (3 << 20) + b"\nready\n")
    scan, size = LogScan(str(path), 0, Signs(ROWS)), path.stat().st_size

    assert [scan.look(size) for _ in range(5)].count(True) == 1


def test_a_log_that_has_ended_is_read_to_its_end_at_once(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"one\n" + (b"y" * 1023 + b"\n") * (5 << 10) + b"ready\n")
    scan, size = LogScan(str(path), 0, Signs(ROWS)), path.stat().st_size

    assert scan.look_to_end(size)
    assert not scan.look_to_end(size)


def test_a_log_that_is_not_there_says_nothing(tmp_path: Path) -> None:
    assert not LogScan(str(tmp_path / "log"), 0, Signs(ROWS)).look(5)
    assert not LogScan(str(tmp_path / "log"), 0, Signs(ROWS)).look_to_end(5)
    assert not find_in_tail(str(tmp_path / "log"), 0, Signs(ROWS))
