"""Times of pieces, computed here by hand."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from firedup.core.measure.latency import Timing, time_pieces, token_gaps_ns, tokens_per_piece


def test_pieces_of_several_tokens_have_their_times_and_counts() -> None:
    assert time_pieces([100, 130, 190], [1, 4, 6]) == Timing(
        first_ns=100,
        last_ns=190,
        events=3,
        first_tokens=1,
        most_tokens=3,
        longest_gap_ns=60,
        gap_at_ns=130,
        arrivals=3,
    )


def test_without_counts_there_is_no_time_between_tokens() -> None:
    timing = time_pieces([100, 130], [None, None])

    assert timing == Timing(100, 130, 2, longest_gap_ns=30, gap_at_ns=100, arrivals=2)
    assert token_gaps_ns([100, 130], [None, None]) is None
    assert token_gaps_ns([100, 130], [1, None]) is None


def test_pieces_that_came_at_the_first_moment_are_counted_together() -> None:
    timing = time_pieces([100, 100, 100, 130, 190], [1, 3, 6, 7, 8])

    assert timing is not None
    assert (timing.first_events, timing.first_tokens, timing.arrivals) == (3, 6, 3)


def test_tokens_that_came_together_have_waited_together() -> None:
    assert token_gaps_ns([100, 130, 190], [1, 4, 6]) == (10, 10, 10, 30, 30)
    # A piece without a token, such as half a character, lends its wait to the next one.
    assert token_gaps_ns([100, 130, 190], [1, 1, 2]) == (90,)


def test_one_piece_or_none_has_no_gaps() -> None:
    assert time_pieces([], []) is None
    assert time_pieces([7], [2]) == Timing(7, 7, 1, first_tokens=2, most_tokens=2)
    assert token_gaps_ns([7], [2]) == ()


def test_counts_that_fall_are_not_believed() -> None:
    assert tokens_per_piece([3, 2]) is None


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 6)), min_size=1))
def test_there_is_one_gap_for_each_token_after_the_first_piece(
    steps: list[tuple[int, int]],
) -> None:
    at_ns, totals = [], []
    now = tokens = 0
    for wait, more in steps:
        now, tokens = now + wait * 60, tokens + more
        at_ns.append(now)
        totals.append(tokens)

    gaps = token_gaps_ns(at_ns, totals)

    assert gaps is not None
    assert len(gaps) == tokens - totals[0]
    assert sum(gaps) == at_ns[-1] - at_ns[0]
