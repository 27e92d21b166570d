"""The lines of the shell loop that firedup replaces, for scripts that parse them."""

from __future__ import annotations

from datetime import tzinfo

from firedup.core.model import Snapshot, Verdict
from firedup.view.eta import say_eta
from firedup.view.quantity import render_clock
from firedup.view.redact import clean_start, printable_block, redact
from firedup.view.stack import render_groups

_SECOND_NS = 1_000_000_000
_ENDINGS = {
    Verdict.READY: "SERVER READY",
    Verdict.STALLED: "STALLED",
    Verdict.TIMED_OUT: "TIMED OUT",
    Verdict.STOPPED: "STOPPED",
    Verdict.LOST: "CONTACT LOST",
}


class Classic:
    """Turns snapshots into the loop's lines; sans-IO, so that time is what the snapshots say.

    `width`: characters of the last matching line; `tail`: lines of the log after a crash, as many
    of them as the snapshot carries; `every_s`: the time between two waiting lines.
    """

    def __init__(
        self,
        *,
        width: int = 120,
        tail: int = 30,
        every_s: float = 15.0,
        zone: tzinfo | None = None,
    ) -> None:
        self._width = width
        self._tail = tail
        self._every_ns = int(every_s * _SECOND_NS)
        self._zone = zone
        self._due_ns: int | None = None
        self._has_ended = False

    def feed(self, snapshot: Snapshot) -> tuple[str, ...]:
        """The waiting line where one is due, or the ending, which is said once."""
        if self._has_ended:
            return ()
        verdict = snapshot.explanation.verdict
        time = render_clock(snapshot.wall_ns, self._zone)
        if verdict is Verdict.CRASHED:
            self._has_ended = True
            lines = snapshot.tail[-self._tail :] if self._tail > 0 else ()
            return ("CRASHED!", *(_as_shown(line) for line in lines))
        is_ending = verdict is Verdict.READY or snapshot.is_final
        if is_ending and verdict in _ENDINGS:
            self._has_ended = True
            stacks = snapshot.explanation.stacks
            return (*(render_groups(stacks) if stacks else ()), f"{_ENDINGS[verdict]} at {time}")
        if self._due_ns is None:
            self._due_ns = snapshot.now_ns + self._every_ns
        if snapshot.now_ns < self._due_ns:
            return ()
        missed = (snapshot.now_ns - self._due_ns) // self._every_ns if self._every_ns else 0
        self._due_ns += (1 + missed) * self._every_ns
        line = snapshot.highlight
        seen = clean_start(line.text)[: self._width] if line else "(no match)"
        eta = say_eta(snapshot)
        return (f"{time} waiting... last: {seen}" + (f"  [ready {eta}]" if eta else ""),)

    def close(self, snapshot: Snapshot) -> tuple[str, ...]:
        """What is left to say at the end."""
        return self.feed(snapshot)


def _as_shown(line: str) -> str:
    """A line of the log as a terminal would leave it: what a carriage return overwrote is gone."""
    return redact(printable_block(line.rstrip("\r").rsplit("\r", 1)[-1]))
