"""Whether two arms gave the same answers, and whether an answer goes round in circles."""

from __future__ import annotations

from dataclasses import dataclass

from firedup.core.measure.measured import Cell

_SHOWN = 24  # characters on either side of a difference
_LONGEST_ROUND = 80  # characters of what is said again and again
_ROUNDS = 4  # of it, one after the other at the end of an answer
_SHORTEST = 48  # characters of an end that is looked at: less repeats by chance


@dataclass(frozen=True, slots=True)
class Comparison:
    """Answers to the same prompts: how many are equal of how many, and the first that is not.

    `at` is the character from which on `prompt`'s answers differ, `left` and `right` what stands
    there. None when all are equal.
    """

    equal: int
    all: int
    prompt: str | None = None
    at: int | None = None
    left: str = ""
    right: str = ""


def compare_answers(left: Cell, right: Cell) -> Comparison:
    """Compare what both answered; an answer that is shorter than the other may still be equal.

    Steps of several tokens may end a fixed length apart by a few, so that the common part counts.
    Turns behind a different answer were asked something else, and are left out.
    """
    before = {(one.prompt, one.turn): one.text for one in left.kept if one.text}
    found = Comparison(0, 0)
    apart: set[str] = set()
    for request in right.kept:
        mine, other = before.get((request.prompt, request.turn)), request.text
        if not mine or not other or request.prompt in apart:
            continue
        at = _first_difference(mine, other)
        if at is not None:
            apart.add(request.prompt)
        if at is None:
            found = _count(found, is_equal=True)
        elif found.prompt is None:
            start = max(0, at - _SHOWN)
            parts = (mine[start : at + _SHOWN], other[start : at + _SHOWN])
            found = Comparison(found.equal, found.all + 1, request.prompt, at, *parts)
        else:
            found = _count(found, is_equal=False)
    return found


def _count(found: Comparison, *, is_equal: bool) -> Comparison:
    return Comparison(
        found.equal + is_equal, found.all + 1, found.prompt, found.at, found.left, found.right
    )


def _first_difference(left: str, right: str) -> int | None:
    common = min(len(left), len(right))
    if left[:common] == right[:common]:
        return None
    low, high = 0, common
    while high - low > 1:  # the beginnings of `low` characters are equal, those of `high` are not
        middle = (low + high) // 2
        if left[:middle] == right[:middle]:
            low = middle
        else:
            high = middle
    return low


def find_loop(text: str) -> str | None:
    """What the end of `text` says again and again; None when it does not.

    The second half must be one short passage repeated, whatever it is and wherever it begins.
    """
    end = text[-max(_SHORTEST, len(text) // 2) :]
    if len(end) < _SHORTEST:
        return None
    period = _period_of(end)
    return end[:period] if period <= min(_LONGEST_ROUND, len(end) // _ROUNDS) else None


def _period_of(text: str) -> int:
    """The smallest shift by which `text` falls upon itself (Knuth, Morris, Pratt)."""
    borders = [0] * len(text)
    border = 0
    for place in range(1, len(text)):
        while border and text[place] != text[border]:
            border = borders[border - 1]
        if text[place] == text[border]:
            border += 1
        borders[place] = border
    return len(text) - borders[-1]
