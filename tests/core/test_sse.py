"""Bytes of an event stream and the events in them."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firedup.core.measure.sse import SseDecoder, SseError


def decode(*slices: bytes, limit: int = 1 << 20) -> list[bytes]:
    decoder = SseDecoder(limit)
    events = [event for data in slices for event in decoder.feed(data)]
    return events + decoder.finish()


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        (b"data: a\n\ndata: b\n\n", [b"a", b"b"]),
        (b"data:a\r\n\r\ndata: b\r\n\r\n", [b"a", b"b"]),
        (b"data: a\r\rdata: b\r\r", [b"a", b"b"]),
        (b"\xef\xbb\xbfdata: a\n\n", [b"a"]),
        (b": ping\n\ndata: a\n\n: ping\n\n", [b"a"]),
        (b"data: one\ndata: two\n\n", [b"one\ntwo"]),
        (b"event: x\nid: 7\nretry: 10\ndata: a\n\n", [b"a"]),
        (b"event: end\n\n", []),
        (b"data\n\n", [b""]),
        (b"data:  a\n\n", [b" a"]),
        (b"database: a\n\n", []),
        (b'error: {"code":500}\n\n', [b'{"code":500}']),
        (b"data: a\n\ndata: [DONE]", [b"a", b"[DONE]"]),
        (b"data: [DONE]\n", [b"[DONE]"]),
        (b"", []),
    ],
)
def test_events_are_found_in_every_form(stream: bytes, events: list[bytes]) -> None:
    assert decode(stream) == events
    assert decode(*(stream[i : i + 1] for i in range(len(stream)))) == events


PIECES = st.sampled_from(
    [
        b"data: ",
        b"data:",
        b"d",
        b"\n",
        b"\r",
        b"\r\n",
        b"\n\n",
        b": c",
        b"{}",
        b"\xef\xbb\xbf",
        b" ",
    ]
)


@given(st.lists(PIECES | st.binary(max_size=4)), st.lists(st.integers(0, 40)))
def test_slicing_the_bytes_differently_changes_nothing(
    pieces: list[bytes], cuts: list[int]
) -> None:
    stream = b"".join(pieces)
    edges = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})
    slices = [stream[a:b] for a, b in pairwise(edges)]

    assert decode(*slices) == decode(stream)


@pytest.mark.parametrize("part", [b"data: aaaaa", b"data: aaaaa\n"])
def test_an_endless_event_is_refused_before_it_fills_the_memory(part: bytes) -> None:
    decoder = SseDecoder(limit=100)
    for _ in range(7):
        decoder.feed(part)

    with pytest.raises(SseError, match="longer than 100 bytes"):
        decoder.feed(part * 3)
