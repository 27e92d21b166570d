"""Whether answers stood still in their middle: which one, for how long, and when."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from firedup.core.measure.measured import Arm, Request
from firedup.core.measure.truthcount import Doubt
from firedup.core.word import Severity

_NS = 1_000_000_000
_ENOUGH = 8  # pieces of an answer, that tell what a wait between two is
_TIMES = 20  # as long as waits are elsewhere
_SHORTEST_NS = _NS // 2  # less is how servers take turns between the streams
_LOST = 0.02  # of the time of decoding: less hardly moves a figure
_DAY_S = 86_400


def check_gaps(arm: Arm, kept: Sequence[Request]) -> Iterator[Doubt]:
    """A doubt where an answer waited far longer between two pieces than answers do.

    How long they wait else is a median over answers, each without its longest wait.
    """
    timed = [one for one in kept if one.events >= _ENOUGH and not one.is_burst and one.first_ns]
    if not timed:
        return
    usual_ns = median((_decoding(one) - _gap(one)) / (one.events - 2) for one in timed)
    still = [one for one in timed if _gap(one) >= max(_SHORTEST_NS, _TIMES * usual_ns)]
    if not still:
        return
    worst = max(still, key=_gap)
    lost = sum(map(_gap, still)) / sum(map(_decoding, timed))
    turn = f", turn {worst.turn}" if worst.turn > 1 else ""
    yield Doubt(
        "answer-stood-still",
        Severity.WARNING if lost >= _LOST else Severity.NOTE,
        "answers stood still in their middle, and their speed holds that wait too"
        if len(still) > 1
        else "an answer stood still in its middle, and its speed holds that wait too",
        f"{worst.prompt}{turn} waited {_gap(worst) / _NS:.2f} s between two pieces,"
        f" {_when(arm, worst)}; {usual_ns / _NS:.3f} s is usual; {len(still)} of"
        f" {len(timed)} answers did so, for {lost:.1%} of the time of decoding",
        "Look at what the server's log says of that moment: an eviction, a compilation, a"
        " collective that waited; or at the way between client and server.",
    )


def _gap(request: Request) -> int:
    return request.longest_gap_ns or 0


def _decoding(request: Request) -> int:
    return (request.last_ns or 0) - (request.first_ns or 0)


def _when(arm: Arm, request: Request) -> str:
    """Since it was asked, and by the clock of whoever measured."""
    at_ns = request.gap_at_ns
    if at_ns is None:  # measured before that was kept
        return "at an unknown moment"
    first_ns = min(one.begun_ns for cell in arm.cells for one in cell.requests)
    second = (arm.wall_ns + at_ns - first_ns) // _NS % _DAY_S
    clock = f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"
    return f"from {(at_ns - request.begun_ns) / _NS:.1f} s after it was asked ({clock} UTC)"
