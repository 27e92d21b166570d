"""Line numbers counted after the fact are those that `sed -n` would use."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from firedup.core.log.numbering import count_lines, count_newlines


@given(
    st.lists(st.sampled_from([b"a", b"\n", b"\r", b"bc\n"]), max_size=40).map(b"".join),
    st.data(),
)
def test_every_offset_gets_its_line(data: bytes, draw: st.DataObject) -> None:
    cuts = draw.draw(st.lists(st.integers(0, len(data)), max_size=6))
    offsets = tuple(range(len(data)))
    edges = sorted({0, len(data), *cuts})

    numbers = count_lines((data[a:b] for a, b in pairwise(edges)), offsets)

    assert numbers == {offset: data[:offset].count(b"\n") + 1 for offset in offsets}


def test_nothing_is_read_when_nothing_is_shown() -> None:
    def refuse() -> bytes:
        raise AssertionError("must not be read")

    assert count_lines((refuse() for _ in range(1)), ()) == {}


@given(st.lists(st.sampled_from([b"a", b"\n", b"\r\n"]), max_size=40).map(b"".join), st.data())
def test_line_ends_are_counted_alike_in_any_part(data: bytes, draw: st.DataObject) -> None:
    start = draw.draw(st.integers(0, len(data)))
    stop = draw.draw(st.integers(start, len(data)))

    assert count_newlines(data, start, stop) == data[start:stop].count(b"\n")
    assert count_newlines(data) == data.count(b"\n")
