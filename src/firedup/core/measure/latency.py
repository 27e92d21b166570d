"""Pieces of an answer with the times of their arrival → first, last, tokens, gaps."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import sub


@dataclass(frozen=True, slots=True)
class Timing:
    """When the pieces of one answer came, in nanoseconds of the clock that they were stamped by.

    `first_tokens` came at the first moment, in so many pieces as `first_events`, and `most_tokens`
    with the fullest piece; None when the server does not count per piece. `longest_gap_ns` is the
    longest wait between two pieces, which began at `gap_at_ns`, and `arrivals` how many different
    moments there were.
    """

    first_ns: int
    last_ns: int
    events: int
    first_tokens: int | None = None
    most_tokens: int | None = None
    longest_gap_ns: int | None = None
    gap_at_ns: int | None = None
    arrivals: int = 1
    first_events: int = 1


def time_pieces(at_ns: Sequence[int], totals: Sequence[int | None]) -> Timing | None:
    """The timing of pieces that arrived at `at_ns`; None when there are none.

    `totals[i]` is how many tokens there were with piece i, None where that was not said.
    """
    if not at_ns:
        return None
    counts = tokens_per_piece(totals)
    gaps = list(map(sub, at_ns[1:], at_ns))  # quick: these may be thousands
    longest_ns = max(gaps, default=None)
    at_first = bisect_right(at_ns, at_ns[0])
    return Timing(
        first_ns=at_ns[0],
        last_ns=at_ns[-1],
        events=len(at_ns),
        first_tokens=totals[at_first - 1],
        most_tokens=max(counts) if counts else None,
        longest_gap_ns=longest_ns,
        gap_at_ns=None if longest_ns is None else at_ns[gaps.index(longest_ns)],
        arrivals=len(set(at_ns)),
        first_events=at_first,
    )


def tokens_per_piece(totals: Sequence[int | None]) -> tuple[int, ...] | None:
    """How many tokens each piece brought; None unless the server counted for every one."""
    if None in totals:
        return None
    known = [total for total in totals if total is not None]
    counts = tuple(map(sub, known, [0, *known]))
    return counts if min(counts, default=0) >= 0 else None


def token_gaps_ns(at_ns: Sequence[int], totals: Sequence[int | None]) -> tuple[int, ...] | None:
    """The time between tokens, one for each token after the first piece.

    Tokens that came together have waited together: a piece of three after 30 ms gives 10 ms three
    times. None when tokens per piece are not known: pieces are no tokens.
    """
    counts = tokens_per_piece(totals)
    if counts is None:
        return None
    gaps: list[int] = []
    waited_ns = 0
    for (earlier, later), tokens in zip(pairwise(at_ns), counts[1:], strict=True):
        waited_ns += later - earlier
        if tokens:
            gaps += [waited_ns // tokens] * tokens
            waited_ns = 0
    return tuple(gaps)
