"""Which of several nodes failed first, as far as their clocks can tell."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

# What a role is worth as a cause: a connection that was closed is the other side's story.
_WORTH = {"cause": 0, "unclassified": 1, "victim": 2, "wrapper": 3}


@dataclass(frozen=True, slots=True)
class Failure:
    """The failure of the node with this `rank`: when, and in which role its line was taken.

    `at_ns` is an instant of a clock that all nodes share, right to within `uncertainty_ns`; None
    where nobody saw it happen.
    """

    rank: int
    at_ns: int | None
    uncertainty_ns: int
    role: str


@dataclass(frozen=True, slots=True)
class FirstFault:
    """The failure that the others followed from, and those that may as well have been first."""

    first: Failure
    rivals: tuple[Failure, ...] = ()


def choose_first(failures: Iterable[Failure]) -> FirstFault | None:
    """The earliest failure; None when there is none. The order of `failures` does not matter.

    Of those whose order the clocks leave open, a real cause goes before what follows from one,
    and a lower rank before a higher.
    """
    known = sorted(failures, key=lambda failure: failure.rank)
    timed = [failure for failure in known if failure.at_ns is not None]
    earliest = min(timed, key=lambda failure: failure.at_ns or 0, default=None)
    open_ones = [failure for failure in known if _may_precede(failure, earliest)]
    if not open_ones:
        return None
    first = min(open_ones, key=lambda failure: (_worth(failure), failure.rank))
    rivals = [f for f in open_ones if f is not first and _worth(f) == _worth(first)]
    return FirstFault(first, tuple(rivals))


def _may_precede(failure: Failure, earliest: Failure | None) -> bool:
    """Whether `failure` may have come before the one that seems to be the earliest."""
    if earliest is None or failure.at_ns is None or earliest.at_ns is None:
        return True
    doubt_ns = failure.uncertainty_ns + earliest.uncertainty_ns
    return failure is earliest or failure.at_ns - earliest.at_ns <= doubt_ns


def _worth(failure: Failure) -> int:
    return _WORTH.get(failure.role, _WORTH["unclassified"])
