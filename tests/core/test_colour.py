"""A block without its terminal sequences leads back to the block's own bytes."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from firedup.core.log.colour import PlainBlock
from firedup.core.log.prefix import strip_escapes

pieces = st.sampled_from(
    [
        b"\x1b[0m",
        b"\x1b[1;32m",
        b"\x1b[m",
        b"\x1b[2K",
        b"\x1b]0;title\x07",
        b"\x1b]8;;http",
        b"\x1b\\",
        b"\x1b=",
        b"\x1b",
        b"[0m",
        b"m",
        b"text",
        b"\r",
        b"\n",
    ]
)
blocks = st.lists(pieces, max_size=40).map(b"".join)


@given(blocks)
@example(b"\x1b\x1b[0m[1;32mtext")
@example(b"".join(b"\x1b[%dmtext" % n for n in range(20)))
def test_a_block_and_its_records_are_freed_of_the_same_sequences(block: bytes) -> None:
    text = PlainBlock(block).text

    assert text == strip_escapes(block.decode()).encode()


@given(blocks)
def test_every_byte_that_is_left_is_found_again_in_the_block(block: bytes) -> None:
    plain = PlainBlock(block)

    places = plain.places(list(range(len(plain.text))))

    assert bytes(block[place] for place in places) == plain.text
    assert places == sorted(set(places))


def test_a_position_between_sequences_is_that_of_its_own_byte() -> None:
    plain = PlainBlock(b"a\x1b[31mb\x1b[0m\x1b[1mc\n")

    assert plain.text == b"abc\n"
    assert plain.places([0, 1, 2, 3]) == [0, 6, 15, 16]
