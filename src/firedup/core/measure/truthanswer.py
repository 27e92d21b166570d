"""Whether answers came as they should: all of them, counted, and piece by piece."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from firedup.core.measure.measured import Cell
from firedup.core.measure.truthcount import Doubt
from firedup.core.word import Severity

_SOME_BURSTS = 0.1  # of the answers: fewer are chance, and are left out anyway


def check_answers(cell: Cell) -> Iterator[Doubt]:
    """What is wrong with the answers of one arm under one load, before any figure is made."""
    yield from _check_failures(cell)
    yield from _check_counts(cell)
    yield from _check_bursts(cell)


def _check_failures(cell: Cell) -> Iterator[Doubt]:
    asked = [one for one in cell.requests if not one.is_warm_up]
    whys = Counter(one.error for one in asked if one.error is not None)
    if not whys or not cell.kept:
        return  # without any answer there is no figure that this would be a doubt of
    ((why, times), *others) = whys.most_common()
    failed = times + sum(count for _, count in others)
    most = "" if not others else f" ({times} times)"
    yield Doubt(
        "requests-failed",
        Severity.WARNING,
        "requests failed, and the figures are of those that were answered",
        f"{failed} of {len(asked)}: {why}{most}",
        "Ask less at a time, or see in the server's log why; --csv has the error of each.",
    )


def _check_counts(cell: Cell) -> Iterator[Doubt]:
    untold = [one for one in cell.kept if one.tokens is None]
    if untold:
        yield Doubt(
            "tokens-untold",
            Severity.WARNING,
            "the server does not say how many tokens an answer has, and pieces are no tokens:"
            " no speed can be told",
            f"{len(untold)} of {len(cell.kept)} answers without `usage`",
            "Let it send the usage of a stream (`stream_options`), or ask the engine itself.",
        )


def _check_bursts(cell: Cell) -> Iterator[Doubt]:
    bursts = [one for one in cell.kept if one.is_burst]
    if len(bursts) < max(2, _SOME_BURSTS * len(cell.kept)):
        return
    times = "no time of theirs is told" if cell.is_held_back else "these are left out of all speeds"
    first = bursts[0]
    yield Doubt(
        "answers-in-bursts",
        Severity.WARNING,
        "answers came in a burst or a few: a proxy holds them back, or this client had no time;"
        f" {times}",
        f"{len(bursts)} of {len(cell.kept)} answers, {first.prompt} with {first.events} pieces"
        f" at {first.arrivals} moment{'s' * (first.arrivals != 1)}",
        "Ask the server itself, have the proxy pass on what it gets (nginx: proxy_buffering off),"
        " or measure while this machine is idle.",
    )
