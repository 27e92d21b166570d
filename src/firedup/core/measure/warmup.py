"""Which first requests of an arm are warm-up: one for each stream, and on until times settle."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import median

from firedup.core.measure.measured import Request

_MOST = 1 / 3  # of the requests: what has not settled by then is no warm-up
_SLACK = 0.10  # slower than the later ones by this share is settled still
_SPREADS = 3.0  # and so is what lies within so many of their own spreads
_NORMAL = 1.4826  # median absolute deviation → standard deviation
_FEWEST = 8  # requests by which the later ones can be judged

_Measure = Callable[[Request], float | None]


@dataclass(frozen=True, slots=True)
class WarmUp:
    """The first `count` requests are warm-up, `why` in words; the rest had settled or not."""

    count: int
    has_settled: bool
    why: str


def find_warm_up(requests: Sequence[Request], streams: int = 1) -> WarmUp:
    """How many of the first requests, in the order of their beginning, are not to be counted.

    The first one of each of the `streams` always: it may compile, capture or fill caches. Then a
    group of as many as there are streams at a time, for as long as the group's median time to the
    first token, or per token, is above those of the arm's later half by more than 10 % and by more
    than three of their spreads. At most a third: an arm that is still getting faster then has not
    settled, and that is said.
    """
    ordered = [request for request in requests if request.error is None]
    least = min(streams, len(ordered))
    if len(ordered) < _FEWEST:
        return WarmUp(least, has_settled=True, why="the first request of each stream")
    limits = [(measure, _limit(measure, ordered)) for measure in (_ttft, _tpot)]
    most = max(least, int(len(ordered) * _MOST))
    count, word = least, ""
    while count < most:
        group = ordered[count : count + max(1, streams)]
        slow = next((name for name, is_slow in _slowness(group, limits) if is_slow), "")
        if not slow:
            break
        count, word = min(most, count + len(group)), slow
    has_settled = count < most or count == least
    why = "the first request of each stream"
    if word:
        why = f"the first {count} requests, whose {word} was still above that of the later ones"
    return WarmUp(count, has_settled, why)


def mark_warm_up(requests: Sequence[Request], streams: int = 1) -> tuple[Request, ...]:
    """The same requests in the order of their beginning, the first ones marked as warm-up.

    What is marked already stays so; where that is so for as many as there are streams, only what
    has not settled is added. Each visit warms up anew.
    """
    marked: list[Request] = []
    for block in sorted({request.block for request in requests}):
        visit = sorted(
            (request for request in requests if request.block == block),
            key=lambda request: request.begun_ns,
        )
        fresh = [request for request in visit if not request.is_warm_up]
        count = find_warm_up(fresh, streams if len(fresh) == len(visit) else 0).count
        dropped = {id(r) for r in [r for r in fresh if r.error is None][:count]}
        marked += [replace(r, is_warm_up=True) if id(r) in dropped else r for r in visit]
    return tuple(marked)


def _ttft(request: Request) -> float | None:
    return request.ttft_s


def _tpot(request: Request) -> float | None:
    return request.tpot_s


_WORDS: dict[_Measure, str] = {_ttft: "time to the first token", _tpot: "time per token"}


def _limit(measure: _Measure, ordered: Sequence[Request]) -> float | None:
    """Above what an early request has not settled, by those of the later half."""
    later = [value for request in ordered[len(ordered) // 2 :] if (value := measure(request))]
    if len(later) < _FEWEST // 2:
        return None
    middle = median(later)
    spread = _NORMAL * median(abs(value - middle) for value in later)
    return middle + max(_SLACK * middle, _SPREADS * spread)


def _slowness(
    group: Sequence[Request], limits: Sequence[tuple[_Measure, float | None]]
) -> list[tuple[str, bool]]:
    found = []
    for measure, limit in limits:
        values = [value for request in group if (value := measure(request))]
        is_slow = bool(values) and limit is not None and median(values) > limit
        found.append((_WORDS[measure], is_slow))
    return found
