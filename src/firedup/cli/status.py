"""The one exit status for several things of which each has its own."""

from __future__ import annotations

from collections.abc import Iterable

from firedup.session.status import NO_CONCLUSION

_GRAVEST_FIRST = (2, 1, 4, 3, 5, NO_CONCLUSION)


def gravest(statuses: Iterable[int]) -> int:
    """The status that counts most: wrong use, a crash, a stall, a lost contact, a time-out."""
    found = set(statuses)
    return next((status for status in _GRAVEST_FIRST if status in found), 0)
