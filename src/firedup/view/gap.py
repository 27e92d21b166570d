"""Ranks that stand apart: when that is worth a line, and how long a picture shows it."""

from __future__ import annotations

from firedup.core.model import Snapshot, Stage
from firedup.view.phrase import find_behind, say_passed, say_ranks

_LASTS_NS = 10_000_000_000
_FLASH_NS = 2_000_000_000
_STAYS_S = 1.0


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


class Standing:
    """What a picture shows of ranks that stand apart: nothing that flashes by.

    Ranks that meet again within two seconds of the host's time are not shown at all; what was
    shown stays for a second of the reader's, which is more when time is replayed fast.
    """

    def __init__(self) -> None:
        self._since_ns: int | None = None
        self._shown = ""
        self._until_s = 0.0

    def feed(self, snapshot: Snapshot, at_s: float) -> None:
        """Take a snapshot that came at `at_s` of the reader's clock."""
        text = say_ranks(snapshot)
        if not text:
            self._since_ns = None
            return
        if self._since_ns is None:
            self._since_ns = snapshot.now_ns
            self._shown = self._shown if at_s < self._until_s else ""
        if snapshot.now_ns - self._since_ns >= _FLASH_NS:
            self._shown, self._until_s = text, at_s + _STAYS_S

    def say(self, at_s: float) -> str:
        """The text to show at `at_s`."""
        return self._shown if self._since_ns is not None or at_s < self._until_s else ""
