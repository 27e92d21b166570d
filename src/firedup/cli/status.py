"""The exit status that stands for a verdict."""

from __future__ import annotations

from collections.abc import Iterable

from firedup.core.model import Verdict

NO_CONCLUSION = 6
_STATUS = {
    Verdict.READY: 0,
    Verdict.CRASHED: 1,
    Verdict.LOST: 3,
    Verdict.STALLED: 4,
    Verdict.TIMED_OUT: 5,
}
_GRAVEST_FIRST = (2, 1, 4, 3, 5, NO_CONCLUSION)


def status_of(verdict: Verdict) -> int:
    """0 ready, 1 crashed, 3 lost, 4 stalled, 5 timed out, 6 anything that is no conclusion."""
    return _STATUS.get(verdict, NO_CONCLUSION)


def gravest(statuses: Iterable[int]) -> int:
    """The status for several things of which each has its own."""
    found = set(statuses)
    return next((status for status in _GRAVEST_FIRST if status in found), 0)
