import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firedup.host import frame
from firedup.host.agent import wire
from firedup.host.frame import (
    PAYLOAD_LIMIT,
    Data,
    Frame,
    FrameDecoder,
    FrameError,
    Kind,
    decode_data,
    encode_frame,
)


def test_a_frame_is_length_type_stream_and_payload() -> None:
    assert encode_frame(Kind.EVENT, 7, b"{}") == b"\x00\x00\x00\x02\x05\x00\x00\x00\x07{}"


def test_data_carries_time_generation_and_offset() -> None:
    payload = struct.pack(">QIQ", 123, 2, 1 << 40) + b"abc"

    assert decode_data(payload) == Data(123, 2, 1 << 40, b"abc")


def test_a_long_message_comes_back_whole() -> None:
    payload = bytes(range(256)) * 1000

    encoded = encode_frame(Kind.EVENT, 3, payload)

    assert FrameDecoder().feed(encoded) == (Frame(Kind.EVENT, 3, payload),)
    lengths = []
    while encoded:
        (length,) = struct.unpack(">I", encoded[:4])
        lengths.append(length)
        encoded = encoded[9 + length :]
    assert max(lengths) == PAYLOAD_LIMIT


FRAMES = st.lists(
    st.builds(
        Frame,
        st.sampled_from([Kind.REQUEST, Kind.CANCEL, Kind.CREDIT]),
        st.integers(0, 2**32 - 1),
        st.one_of(st.binary(max_size=40), st.just(b"x" * (PAYLOAD_LIMIT + 5))),
    ),
    max_size=6,
)


@given(FRAMES, st.lists(st.integers(1, 70000), max_size=12))
def test_slicing_the_bytes_differently_changes_nothing(
    frames: list[Frame], cuts: list[int]
) -> None:
    data = b"".join(encode_frame(f.kind, f.stream, f.payload) for f in frames)
    decoder, reader = FrameDecoder(), wire.FrameReader()
    seen: list[Frame] = []
    seen_by_agent: list[tuple[int, int, bytes]] = []
    for cut in [*cuts, len(data)]:
        piece, data = data[:cut], data[cut:]
        seen += decoder.feed(piece)
        seen_by_agent += reader.feed(piece)

    assert seen == frames
    assert seen_by_agent == [(f.kind, f.stream, f.payload) for f in frames]


@given(st.integers(1, 7), st.integers(0, 2**32 - 1), st.binary(max_size=200))
def test_client_and_agent_write_the_same_frames(kind: int, stream: int, payload: bytes) -> None:
    ours = encode_frame(Kind(kind), stream, payload * 700)

    assert ours == wire.encode_long(kind, stream, payload * 700)


def test_client_and_agent_share_their_numbers() -> None:
    assert {k.name: int(k) for k in Kind} == {k.name: getattr(wire, k.name) for k in Kind}
    assert wire.PAYLOAD_LIMIT == frame.PAYLOAD_LIMIT
    assert wire.DATA_HEADER.format == ">QIQ"
    assert json.loads(wire.encode_json(wire.END, 1, {"a": 1})[9:]) == {"a": 1}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (struct.pack(">IBI", PAYLOAD_LIMIT + 1, 6, 1), "at most 65536"),
        (struct.pack(">IBI", 0, 9, 1), "unknown type 9"),
        (b"Welcome to the machine", "at most 65536"),
    ],
)
def test_nonsense_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(FrameError, match=message):
        FrameDecoder().feed(data)


def test_a_data_frame_without_its_header_is_refused() -> None:
    with pytest.raises(FrameError, match="DATA frame of 3 bytes"):
        decode_data(b"abc")


def test_a_message_without_end_is_refused() -> None:
    part = struct.pack(">IBI", PAYLOAD_LIMIT, Kind.PART, 1) + b"x" * PAYLOAD_LIMIT
    decoder = FrameDecoder()
    for _ in range(frame.JOINED_LIMIT // PAYLOAD_LIMIT):
        decoder.feed(part)

    with pytest.raises(FrameError, match="more than"):
        decoder.feed(part)
