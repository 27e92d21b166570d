"""Which groups of equal stacks stand apart, and where they part from the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from firedup.core.stack import Frame, StackGroup

STOPPED = "stopped"  # what a process waits in that a signal or a debugger holds


def find_odd(groups: Sequence[StackGroup]) -> frozenset[int]:
    """The places of the groups of ranks that stand apart.

    They are stopped while others are not; or all others wait for other ranks, and they do not; or
    they are the fewest while more than half of the ranks agree.
    """
    ranks = [n for n, group in enumerate(groups) if group.is_rank]
    total = sum(len(groups[n].members) for n in ranks)

    def count(places: Sequence[int]) -> int:
        return sum(len(groups[n].members) for n in places)

    stopped = [n for n in ranks if groups[n].wait == STOPPED]
    if 0 < len(stopped) < len(ranks):
        return frozenset(stopped)
    apart = [n for n in ranks if not groups[n].waits_for_others]
    is_told = all(not groups[n].is_generic for n in apart)
    if 0 < len(apart) < len(ranks) and (is_told or 2 * count(apart) <= total):
        return frozenset(apart)
    sizes = [len(groups[n].members) for n in ranks]
    if len(sizes) < 2 or 2 * max(sizes) <= total:
        return frozenset()
    return frozenset(n for n in ranks if len(groups[n].members) == min(sizes))


def part(groups: list[StackGroup], stacks: list[tuple[Frame, ...]]) -> list[StackGroup]:
    """Say of each group of ranks where it parts from the largest that does not stand apart."""
    model = next((n for n, g in enumerate(groups) if g.is_rank and not g.is_odd), None)
    if model is None:
        return groups
    told = []
    for place, group in enumerate(groups):
        is_same = [*map(call_of, stacks[place])] == [*map(call_of, stacks[model])]
        if place == model or is_same or not group.is_rank:
            told.append(group)
            continue
        own = stacks[place]
        common = _count_common(own, stacks[model])
        told.append(
            replace(
                group,
                parts_at=own[-common] if common else None,
                parts_to=own[-common - 1] if 0 < common < len(own) else None,
            )
        )
    return told


def _count_common(one: tuple[Frame, ...], other: tuple[Frame, ...]) -> int:
    """How many calls two stacks share from the outermost; one that goes on elsewhere is the last.

    Both are then in the same function, at another line of it.
    """
    common = 0
    for mine, theirs in zip(reversed(one), reversed(other), strict=False):
        if call_of(mine)[:2] != call_of(theirs)[:2]:
            break
        common += 1
        if mine.line != theirs.line:
            break
    return common


def call_of(frame: Frame) -> tuple[str, str, int | None]:
    """A frame as it is compared: py-spy puts the class before a name, and shortens paths."""
    return frame.function.rpartition(".")[2], frame.file.rpartition("/")[2], frame.line
