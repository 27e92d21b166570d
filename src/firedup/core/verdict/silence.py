"""The time stamps of a log alone → how long a start made no progress, and whether it hangs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from firedup.core.log.prefix import is_wall, parse_prefix
from firedup.core.model import Evidence, Line, Stage
from firedup.core.verdict.suspect import MAX_LINE_CHARS

_NS = 1_000_000_000
_NO_YEAR = 1900  # that no log is of

# How long a stage may go without a line of progress while nobody looks at its processes. Much more
# than it usually takes: a large checkpoint comes over a slow network, compilers print nothing.
PATIENCE_S = {
    Stage.ARGS: 900.0,
    Stage.DIST_INIT: 900.0,
    Stage.LOAD_WEIGHTS: 3600.0,
    Stage.COMPILE: 3600.0,
    Stage.KV_CACHE: 900.0,
    Stage.WARMUP: 900.0,
}
DEFAULT_PATIENCE_S = 1800.0
# Somebody who breaks a start off after so long had reason to.
INTERRUPT_PATIENCE_S = 900.0


@dataclass(frozen=True, slots=True)
class Silence:
    """Since the line `since`, where a start moved on last, `seconds` passed without progress.

    `until` is the line that shows how late it was at last; None when no later time stamp is known.
    `patience_s` is what the stage may need.
    """

    since: Line
    until: Line | None
    seconds: float | None
    patience_s: float

    @property
    def is_too_long(self) -> bool:
        """Whether time went on for longer than the stage may need."""
        return self.seconds is not None and self.seconds >= self.patience_s

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """The line of the last progress, and the one that shows how long ago that is."""
        since = self.since
        found = [Evidence("line", since.text[:MAX_LINE_CHARS], since.number or None, since.offset)]
        if self.until is not None and self.until.text != since.text:
            found.append(Evidence("line", self.until.text[:MAX_LINE_CHARS]))
        return tuple(found)


def measure_silence(
    since: Line, stamped: Line | None, later: Iterable[Line], stage: Stage | None, bar_s: float
) -> Silence:
    """How long nothing went on after `since`.

    `stamped` is the last line with a time stamp up to there (often `since` itself), `later` are
    lines of the log's end, and `bar_s` is how long a bar without time stamps had been moving.
    """
    patience_s = PATIENCE_S.get(stage, DEFAULT_PATIENCE_S) if stage else DEFAULT_PATIENCE_S
    if stamped is None:
        return Silence(since, None, None, patience_s)
    begun, kind = _clock_of(stamped)
    alike = [
        (at, line) for line in later for at, clock in [_clock_of(line)] if at and clock == kind
    ]
    if begun is None or not alike:
        return Silence(since, None, None, patience_s)
    end, until = max(alike, key=lambda item: item[0] or 0)
    seconds = ((end or 0) - begun) / _NS - bar_s
    if seconds <= 0:
        return Silence(since, None, None, patience_s)
    return Silence(since, until, seconds, patience_s)


def _clock_of(line: Line) -> tuple[int | None, str]:
    """The line's time stamp and whose clock it is: two clocks may be hours apart."""
    own = parse_prefix(line.written, _NO_YEAR).stamp_ns
    clock = "collector" if own is None else "engine"
    if own is not None and own != line.stamp_ns:
        clock += " without a year"  # which was guessed
    if line.stamp_ns is not None and not is_wall(line.stamp_ns):
        clock += " since its start"
    return line.stamp_ns, clock
