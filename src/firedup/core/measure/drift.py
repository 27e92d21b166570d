"""How much a server's speed wanders by itself: between two visits of it, and within one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from statistics import fmean, variance

from firedup.core.measure.measured import Cell, Request

_PAUSE_NS = 600_000_000_000  # between two blocks that are two visits: ten minutes
_PARTS = 6  # that a visit is divided into
_SMALLEST_PART = 4  # requests
_SCATTER = 2.6  # the 95 % quantile of F with 5 and some 30 degrees of freedom


@dataclass(frozen=True, slots=True)
class Drift:
    """Variance of a visit's log speed around the server's own, with its degrees of freedom.

    The default is an assumption, and nothing is learned of a host: 2 % from one visit to the next,
    worth as much as six visits that were seen. One measurement asks each prompt once, so that its
    own visits have none in common by which they could be compared.
    """

    variance: float = 0.02**2
    degrees: float = 6.0


def blocks_of(cell: Cell) -> tuple[tuple[Request, ...], ...]:
    """The requests that count, by block, each in the order of time."""
    blocks: defaultdict[int, list[Request]] = defaultdict(list)
    for request in sorted(cell.kept, key=lambda one: one.begun_ns):
        blocks[request.block].append(request)
    return tuple(tuple(blocks[block]) for block in sorted(blocks))


def visits_of(cell: Cell) -> tuple[tuple[Request, ...], ...]:
    """The same, with blocks that follow each other within minutes as one visit.

    Drift lasts for minutes: what was asked in one go has felt it once. Times that go back are of
    another clock, and so of another day.
    """
    visits: list[tuple[Request, ...]] = []
    end_ns = 0
    for block in blocks_of(cell):
        if visits and abs(block[0].begun_ns - end_ns) < _PAUSE_NS:
            visits[-1] += block
        else:
            visits.append(block)
        end_ns = max(request.last_ns or request.begun_ns for request in block)
    return tuple(visits)


def wandering_of(cell: Cell) -> float:
    """`find_wandering` of the log times per token, the mean over a cell's visits."""
    series = [
        [log(request.tpot_s) for request in visit if request.tpot_s] for visit in visits_of(cell)
    ]
    return fmean(map(find_wandering, series)) if series else 0.0


def find_wandering(series: Sequence[float]) -> float:
    """The variance with which a series, in order of time, wanders beyond what its noise explains.

    It is cut into parts. Their means scatter by the noise alone unless the server was faster at
    one time than at another; only a scatter that noise would show in one visit of twenty counts.
    0 when there is none, or the series is too short to say.
    """
    size = len(series) // _PARTS
    if size < _SMALLEST_PART:
        return 0.0
    parts = [series[start : start + size] for start in range(0, size * _PARTS, size)]
    noise = fmean(variance(part) for part in parts) / size
    between = variance([fmean(part) for part in parts])
    return between - noise if between > _SCATTER * noise else 0.0
