"""Whether a drafter's head rows stand for the target tokens that a map says they stand for."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from operator import mul

from firedup.drafter.vocabmap import read_offsets

Rows = Mapping[int, tuple[float, ...]]
ENOUGH_ROWS = 12
MOST_ROWS = 40
LIKELY, UNLIKELY = 0.6, 0.3


def pairs_of(
    draft: Rows, target: Rows, ids: Sequence[int]
) -> list[tuple[tuple[float, ...], tuple[float, ...]]]:
    """The sampled draft rows beside the target rows that `ids` leads to, as far as both are there.

    Rows of zeros and rows that hold something else than finite numbers are left out.
    """
    found = []
    for row in sorted(draft):
        other = target.get(ids[row]) if 0 <= row < len(ids) else None
        if other is not None and is_usable(draft[row]) and is_usable(other):
            found.append((draft[row], other))
    return found


def is_usable(row: Sequence[float]) -> bool:
    """Whether a row holds finite numbers and not zeros alone."""
    total = sum(map(abs, row))
    return math.isfinite(total) and total > 0


def similarity_of_structure(
    draft: Rows, target: Rows, d2t: Sequence[int] | None, vocab: int
) -> float | None:
    """The correlation of two matrices of cosine similarities, None with too few rows.

    One matrix is that of the sampled draft rows among themselves, the other that of the target rows
    which `d2t` (offsets; None = the same rows) leads to. A drafter learns to tell tokens apart as
    its target does, in whatever basis, so for the right map the two go together. Measured: right
    maps 0.84 to 0.97, wrong ones at most 0.37.
    """
    ids = list(range(vocab)) if d2t is None else read_offsets(d2t, vocab).ids
    pairs = pairs_of(draft, target, ids)
    if len(pairs) > MOST_ROWS:
        pairs = [pairs[number * len(pairs) // MOST_ROWS] for number in range(MOST_ROWS)]
    if len(pairs) < ENOUGH_ROWS:
        return None
    return correlation(
        similarities([row for row, _ in pairs]), similarities([row for _, row in pairs])
    )


def similarities(rows: Sequence[Sequence[float]]) -> list[float]:
    """The cosines of all pairs of `rows`, after their mean is taken off."""
    means = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
    centred = []
    for row in rows:
        off = [value - mean for value, mean in zip(row, means, strict=True)]
        length = math.sqrt(sum(map(mul, off, off))) or 1.0
        centred.append([value / length for value in off])
    return [sum(map(mul, a, b)) for number, a in enumerate(centred) for b in centred[:number]]


def correlation(left: Sequence[float], right: Sequence[float]) -> float | None:
    """Pearson's, None where one side does not vary."""
    mean_left, mean_right = sum(left) / len(left), sum(right) / len(right)
    a = [value - mean_left for value in left]
    b = [value - mean_right for value in right]
    scale = math.sqrt(sum(map(mul, a, a)) * sum(map(mul, b, b)))
    return sum(map(mul, a, b)) / scale if scale > 0 else None


def cosine(left: Sequence[float], right: Sequence[float]) -> float:
    """The cosine of two rows of the same length, 0 for rows of zeros."""
    scale = math.sqrt(sum(map(mul, left, left)) * sum(map(mul, right, right)))
    return sum(map(mul, left, right)) / scale if scale > 0 else 0.0
