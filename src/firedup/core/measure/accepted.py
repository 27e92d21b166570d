"""What was accepted of a drafter's tokens, by position and by category, as evidence of causes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from firedup.core.measure.acceptance import Counts, Positions, Source, positions_of, sum_counts
from firedup.core.measure.measured import Arm, Cell, Estimate, Request
from firedup.core.measure.rival import Evidence
from firedup.core.measure.statistic import estimate

_FEWEST_STEPS = 20  # of a category or a position, below which its share is chance


def counted(cell: Cell) -> tuple[Request, ...]:
    """The requests whose own counters tell of the cell; none where the server's tell of it.

    Where neither was chosen, since what they say is made up, it is the requests' if all have them.
    """
    own = tuple(request for request in cell.kept if request.counts is not None)
    source = cell.acceptance.source if cell.acceptance else ""
    if source == Source.SERVER:
        return ()
    is_whole = len(own) == len(cell.kept) or cell.counters is None or cell.counters.counts is None
    return own if is_whole or source in (Source.REQUESTS, Source.BETWEEN) else ()


def any_counts_of(cell: Cell) -> Counts | None:
    """The counters of speculation over the requests that count, else those of the server.

    Made up or not: a step takes the time that it takes. None where there are none.
    """
    own = sum_counts(request.counts for request in counted(cell) if request.counts is not None)
    if own is not None:
        return own
    return cell.counters.counts if cell.counters else None


def counts_of(cell: Cell) -> Counts | None:
    """The same; None too where they are not of this drafter."""
    if cell.acceptance is None or cell.acceptance.length is None:
        return None
    return any_counts_of(cell)


def tokens_a_step(accepted: float, steps: float) -> float:
    """The acceptance length of sums: a step gives what was accepted, and one more."""
    return 1 + accepted / steps


def length_of(rows: Sequence[tuple[int, int]]) -> Estimate | None:
    """The acceptance length of rows with accepted tokens and steps, one for each prompt."""
    return estimate(rows, tokens_a_step)


def rows_of(requests: Iterable[Request]) -> dict[str, tuple[int, int]]:
    """Accepted tokens and steps of each prompt that has counters."""
    rows: dict[str, tuple[int, int]] = {}
    for request in requests:
        if (counts := request.counts) is not None:
            accepted, steps = rows.get(request.prompt, (0, 0))
            rows[request.prompt] = (accepted + counts.accepted, steps + counts.steps)
    return rows


def acceptance_length_of(cell: Cell) -> Estimate | None:
    """Its acceptance length, with an interval where the requests' own counters tell it.

    Without one where the server's do; None where nothing does, or where what it says is made up.
    """
    if cell.acceptance is not None and cell.acceptance.length is None:
        return None
    found = length_of(tuple(rows_of(counted(cell)).values()))
    if found is not None or cell.acceptance is None or cell.acceptance.length is None:
        return found
    return Estimate(cell.acceptance.length)


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
    for request in counted(cell):
        if request.counts is not None:
            many.setdefault(request.category, []).append(request.counts)
    sums = {name: sum_counts(own) for name, own in many.items()}
    return {
        name: one.accepted / one.steps
        for name, one in sums.items()
        if one is not None and one.steps >= _FEWEST_STEPS
    }
