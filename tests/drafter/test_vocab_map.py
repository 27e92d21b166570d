"""What a d2t says: offsets and ids are told apart, and what is wrong with a map is counted."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from firedup.drafter.vocabmap import holds_ids, is_arange, read_ids, read_offsets

VOCAB = 500
IDS = st.sets(st.integers(0, VOCAB - 1), min_size=16, max_size=120).map(sorted)


def offsets_of(ids: list[int]) -> list[int]:
    return [i - row for row, i in enumerate(ids)]


def has_neighbours(ids: list[int]) -> bool:
    return any(after - before == 1 for before, after in pairwise(ids))


@given(IDS)
def test_offsets_are_read_back_as_the_ids_they_were_made_of(ids: list[int]) -> None:
    reading = read_offsets(offsets_of(ids), VOCAB)

    assert list(reading.ids) == ids
    assert reading.is_sound


@given(IDS)
def test_ids_are_told_from_offsets_with_and_without_a_mask(ids: list[int]) -> None:
    if is_arange(ids):
        return
    assert holds_ids(ids, VOCAB, None)
    assert holds_ids(ids, VOCAB, ids) or tuple(ids) == read_offsets(ids, VOCAB).ids


@given(IDS)
def test_offsets_are_never_taken_for_ids_where_the_mask_says_so(ids: list[int]) -> None:
    assert not holds_ids(offsets_of(ids), VOCAB, ids)
    if has_neighbours(ids):
        assert not holds_ids(offsets_of(ids), VOCAB, None)


def test_rows_outside_falling_and_doubled_are_named() -> None:
    reading = read_ids([3, 2, 2, 9], 9)

    assert reading.outside == (3,)
    assert reading.falling == (1,)
    assert reading.doubled == (2,)
    assert not reading.is_sound
