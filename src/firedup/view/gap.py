"""Ranks that stand apart: a line when it lasts, and one when they are together again."""

from __future__ import annotations

from firedup.core.model import Snapshot, Stage
from firedup.view.phrase import find_behind, say_passed, say_ranks

_LASTS_NS = 10_000_000_000


class Gap:
    """Says who is behind once that has lasted for ten seconds of the host's time."""

    def __init__(self) -> None:
        self._since_ns: int | None = None
        self._told: tuple[Stage, tuple[str, ...]] | None = None
        self._told_ns: int | None = None

    def feed(self, snapshot: Snapshot) -> list[str]:
        """The line that is due, if any."""
        found = find_behind(snapshot)
        if found is None:
            told, self._since_ns, self._told = self._told, None, None
            has_closed = told is not None and any(
                rank.stage is told[0] and rank.has_finished for rank in snapshot.ranks
            )
            if told is None or not has_closed:
                return []
            return [f"all {len(snapshot.ranks)} ranks {say_passed(told[0])}"]
        if self._since_ns is None:
            self._since_ns = snapshot.now_ns
        lasts = snapshot.now_ns - self._since_ns >= _LASTS_NS
        if found == self._told or not lasts or self._was_told_just_now(snapshot):
            return []
        self.mark_told(snapshot)
        return [say_ranks(snapshot)]

    def mark_told(self, snapshot: Snapshot) -> None:
        """Another line has just said who is behind."""
        self._told, self._told_ns = find_behind(snapshot), snapshot.now_ns

    def _was_told_just_now(self, snapshot: Snapshot) -> bool:
        return self._told_ns is not None and snapshot.now_ns - self._told_ns < _LASTS_NS
