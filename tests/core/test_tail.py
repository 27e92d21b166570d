"""The tail is what `tail -n` would print, and the highlight the last line that `grep` would."""

from __future__ import annotations

import re
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from firedup.core.log.tail import Tail

logs = st.lists(st.sampled_from(["load 1", "fired up", "\n", "\n\n", "x"]), max_size=40).map(
    "".join
)


@given(logs, st.lists(st.integers(0, 100), max_size=6), st.integers(1, 5))
def test_slices_do_not_matter(text: str, cuts: list[int], wanted: int) -> None:
    data = text.encode()
    tail = Tail(wanted, re.compile("load|fired"))
    for start, stop in pairwise(sorted({0, len(data), *(c for c in cuts if c < len(data))})):
        tail.feed(data[start:stop])

    lines = text.split("\n")
    whole = lines[:-1]
    expected = lines if lines[-1] else whole
    assert tail.lines() == tuple(expected[-wanted:])
    hits = [line for line in whole if re.search("load|fired", line)]
    assert (tail.highlight.text if tail.highlight else None) == (
        hits[-1].rstrip() if hits else None
    )


def test_the_last_piece_of_a_bar_is_the_last_line() -> None:
    tail = Tail(0)
    tail.feed(b"begin\n\r 10%\r 20%\r")

    last = tail.last()
    assert last is not None
    assert last.text == " 20%"


def test_an_endless_line_is_kept_in_bounds() -> None:
    tail = Tail(3, re.compile("x"))
    for _ in range(50):
        tail.feed(b"y" * 65_536)

    assert len(tail._kept) + len(tail._open) < 300_000
