"""What was accepted of a drafter's tokens, by position and by category, as evidence of causes."""

from __future__ import annotations

from collections.abc import Iterable

from firedup.core.acceptance import Counts, Positions, positions_of, sum_counts
from firedup.core.measured import Arm, Cell
from firedup.core.rival import Evidence

_FEWEST_STEPS = 20  # of a category or a position, below which its share is chance


def counts_of(cell: Cell) -> Counts | None:
    """The counters of speculation over the requests that count, else those of the server.

    None where there are none, or where they are not of this drafter.
    """
    if cell.acceptance is None or cell.acceptance.length is None:
        return None
    own = [request.counts for request in cell.kept if request.counts is not None]
    if own and cell.acceptance.source != "the server's counters":
        return sum_counts(own)
    return cell.counters.counts if cell.counters else None


def positions_of_cell(cell: Cell, draft_tokens: int | None) -> Positions | None:
    """Acceptance by position; of a tree only as deep as it is, of which `draft_tokens` tells."""
    counts = counts_of(cell)
    found = positions_of(counts) if counts is not None else None
    if found is None:
        return None
    return Positions(found.reached[:draft_tokens], found.given[:draft_tokens])


def find_draft_tokens(cells: Iterable[Cell]) -> int | None:
    """How many tokens a step drafted at most, as counters tell who does not say it otherwise."""
    most = 0
    for cell in cells:
        counts = counts_of(cell)
        if counts is not None and counts.proposed and counts.steps:
            most = max(most, len(counts.positions), -(-counts.proposed // counts.steps))
    return most or None


def evidence_of(arm: Arm) -> Evidence:
    """What the arm's smallest load with counters says of what else may make acceptance low."""
    for cell in arm.cells:
        counts = counts_of(cell)
        if counts is not None and counts.steps >= _FEWEST_STEPS:
            found = positions_of_cell(cell, arm.conditions.draft_tokens)
            return Evidence(found.reached if found else (), _by_category(cell))
    return Evidence()


def _by_category(cell: Cell) -> dict[str, float]:
    """Accepted tokens a step of each category that was asked often enough."""
    many: dict[str, list[Counts]] = {}
    for request in cell.kept:
        if request.counts is not None:
            many.setdefault(request.category, []).append(request.counts)
    sums = {name: sum_counts(own) for name, own in many.items()}
    return {
        name: one.accepted / one.steps
        for name, one in sums.items()
        if one is not None and one.steps >= _FEWEST_STEPS
    }
