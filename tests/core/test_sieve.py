"""The sieve yields every line that matters, whatever the slices, and nothing wrong about them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firedup.core.log import sieve as sieve_module
from firedup.core.log.line import LIMIT_BYTES
from firedup.core.log.sieve import Sieve
from firedup.core.model import Line
from firedup.core.rule import Hit


class Words:
    """A matcher of plain words: the smallest thing that fulfils the protocol."""

    def __init__(self, *words: bytes, gauges: tuple[bytes, ...] = ()) -> None:
        self._pattern = re.compile(b"|".join(map(re.escape, words)) or b"(?!)")
        self.gauge_literals = gauges

    def scan(self, block: bytes) -> list[int]:
        return [found.start() for found in self._pattern.finditer(block)]

    def match(self, line: Line) -> tuple[Hit, ...]:
        return ()


def collect(data: bytes, cuts: list[int], matcher: Words, follow: int = 0) -> list[Line]:
    """All lines of `data` fed in slices; after a hit the next `follow` lines are wanted too."""
    wanted = 0
    found: list[Line] = []

    def take(lines: Iterator[Line]) -> None:
        nonlocal wanted
        for line in lines:
            found.append(line)
            wanted = follow if b"hit" in line.text.encode() else max(0, wanted - 1)

    sieve = Sieve(matcher, lambda: wanted > 0)
    edges = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    for start, stop in pairwise(edges):
        take(sieve.feed(data[start:stop]))
    take(sieve.close())
    assert sieve.size == len(data)
    return found


pieces = st.sampled_from(
    [
        b"hit",
        b"miss",
        b"\n",
        b"\r",
        b"\r\n",
        b"\x1b[31m",
        b" ",
        b"\xff",
        b"ab",
        b"\x00",
        "é".encode(),
    ]
)
logs = st.lists(pieces, max_size=60).map(b"".join)


@given(logs, st.lists(st.integers(0, 200), max_size=12), st.integers(0, 3))
def test_slicing_the_bytes_differently_changes_nothing(
    data: bytes, cuts: list[int], follow: int
) -> None:
    matcher = Words(b"hit")
    whole = [line for line in collect(data, [], matcher, follow) if "hit" in line.text]
    sliced = [line for line in collect(data, cuts, matcher, follow) if "hit" in line.text]

    assert sliced == whole


@given(logs)
def test_a_line_can_be_found_again_by_its_number_and_its_offset(data: bytes) -> None:
    for line in collect(data, [], Words(b"hit", b"miss")):
        raw = data[line.offset : line.end]
        physical = data.split(b"\n")[line.number - 1]

        assert raw.strip(b"\r\n") in physical
        assert line.is_progress == (raw.endswith(b"\r") and data[line.end : line.end + 1] != b"\n")


def test_a_half_line_waits_for_its_end() -> None:
    sieve = Sieve(Words(b"hit"), lambda: False)

    assert list(sieve.feed(b"a hit with")) == []
    assert [line.text for line in sieve.feed(b"out end\n")] == ["a hit without end"]


def test_a_bar_without_an_end_can_be_seen() -> None:
    sieve = Sieve(Words(), lambda: False)
    list(sieve.feed(b"begin\n\r 10% hit\r 20% hit"))

    line = sieve.unfinished()

    assert line is not None
    assert (line.text, line.number) == (" 20% hit", 2)


def test_the_lines_after_a_hit_are_yielded_while_they_are_wanted() -> None:
    found = collect(b"x\nhit\na\nb\nc\n", [], Words(b"hit"), follow=2)

    assert [(line.number, line.text) for line in found] == [(2, "hit"), (3, "a"), (4, "b")]


@given(st.lists(st.integers(0, LIMIT_BYTES * 3), max_size=5))
def test_an_endless_record_keeps_its_head_only(cuts: list[int]) -> None:
    data = b"hit" + b"x" * (LIMIT_BYTES * 2) + b"\nnext hit\r\nlast hit"

    first, second, third = collect(data, cuts, Words(b"hit"))

    assert first.is_cut
    assert len(first.text) == LIMIT_BYTES
    assert data[second.offset : second.end] == b"next hit\r\n"
    assert (second.number, third.number, third.text) == (2, 3, "last hit")


def test_memory_stays_bounded_by_the_limit_of_one_record() -> None:
    sieve = Sieve(Words(b"hit"), lambda: False)
    for _ in range(64):
        list(sieve.feed(b"y" * 65_536))

    assert sieve.size == 64 * 65_536
    assert len(sieve._rest) <= LIMIT_BYTES + 2


@given(st.lists(st.integers(0, 60_000), max_size=8))
def test_gauges_are_read_in_full_first_and_sampled_later(cuts: list[int]) -> None:
    line = b"len: 1.5" + b"." * 55 + b"\n"
    window = 16_384

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sieve_module, "WINDOW_BYTES", window)
        patch.setattr(sieve_module, "HEAD_BYTES", 1024)
        found = collect(line * 1000, cuts, Words(gauges=(b"len: ",)))

    in_first = [line for line in found if line.offset < window]
    in_second = [line for line in found if window <= line.offset < 2 * window]
    assert (len(in_first), len(in_second)) == (256, sieve_module.GAUGES_IN_LATER_WINDOWS)


@given(st.lists(st.integers(0, 9_000), max_size=8))
def test_the_newest_gauge_is_known_however_the_log_was_sliced(cuts: list[int]) -> None:
    data = b"".join(b"len: %d\n" % n for n in range(1000))
    sieve = Sieve(Words(gauges=(b"len: ",)), lambda: False)
    edges = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    for start, stop in pairwise(edges):
        list(sieve.feed(data[start:stop]))

    (newest,) = sieve.newest_gauges()

    assert newest.text == "len: 999"
    assert data[newest.offset : newest.end] == b"len: 999"
