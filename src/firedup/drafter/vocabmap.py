"""What a d2t says, read as offsets and read as ids: which reading can be right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to read a map: the target ids of the rows, and what is wrong with them."""

    ids: tuple[int, ...]
    outside: tuple[int, ...]  # rows whose id is no token
    falling: tuple[int, ...]  # rows whose id is below that of the row before
    doubled: tuple[int, ...]  # rows whose id an earlier row has

    @property
    def is_sound(self) -> bool:
        """All ids are tokens, ascending, and each stands once."""
        return not (self.outside or self.falling or self.doubled)


def read_offsets(d2t: Sequence[int], vocab: int) -> Reading:
    """As engines read it: the id of row i is i + d2t[i]."""
    return _reading(tuple(d2t), vocab, is_ids=False)


def read_ids(d2t: Sequence[int], vocab: int) -> Reading:
    """As if it held the ids themselves."""
    return _reading(tuple(d2t), vocab, is_ids=True)


def holds_ids(d2t: Sequence[int], vocab: int, marked: Sequence[int] | None) -> bool:
    """Whether `d2t` holds ids instead of offsets. `marked` are the tokens that t2d marks.

    Ids are ascending without gaps of zero. Offsets stay the same wherever two neighbouring tokens
    are both drafted, so that offsets which rise in each row are next to impossible: a drafter
    would know no two tokens that follow each other.
    """
    as_ids, as_offsets = read_ids(d2t, vocab), read_offsets(d2t, vocab)
    if not as_ids.is_sound or len(d2t) < 2 or is_arange(d2t):
        return False
    if marked is not None and len(marked) == len(d2t):
        if tuple(marked) == as_offsets.ids:
            return False
        if tuple(marked) == as_ids.ids:
            return True
    return not as_offsets.is_sound or len(d2t) >= 16


def is_arange(d2t: Sequence[int]) -> bool:
    """Whether it counts 0, 1, 2, …: what a buffer is often filled with before it is set."""
    return len(d2t) > 1 and all(value == row for row, value in enumerate(d2t))


@lru_cache(maxsize=4)
def _reading(d2t: tuple[int, ...], vocab: int, *, is_ids: bool) -> Reading:
    """Kept, since several checks read the same map of tens of thousands of rows."""
    ids = d2t if is_ids else tuple([row + more for row, more in enumerate(d2t)])
    outside = tuple([row for row, i in enumerate(ids) if not 0 <= i < vocab])
    falling = tuple([row for row in range(1, len(ids)) if ids[row] < ids[row - 1]])
    return Reading(ids, outside, falling, _doubled(ids))


def _doubled(ids: tuple[int, ...]) -> tuple[int, ...]:
    if len(set(ids)) == len(ids):
        return ()
    seen: set[int] = set()
    doubled = []
    for row, i in enumerate(ids):
        if i in seen:
            doubled.append(row)
        seen.add(i)
    return tuple(doubled)
