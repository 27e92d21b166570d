"""How long a start still takes: by its bar, by the bytes it has read, and by earlier starts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from firedup.core.forecast import LEAST_STARTS, Eta, Forecast, StageTime, StartTimes, choose_starts
from firedup.core.verdict.etaspread import Spread, weighted_quantiles
from firedup.core.word import Stage

SHARES = (0.1, 0.5, 0.9)  # the ends and the middle of the interval
POINTS = 41  # so many values stand for what is not known of a duration
LATER_POINTS = 21
LEAST_FRACTION = 0.05  # a bar says nothing before
# Logs are read and samples taken with less precision than stages that take no time would need.
SLACK_S = 1.0
_UP = (Stage.READY, Stage.SERVING)


@dataclass(frozen=True, slots=True)
class Present:
    """Where a start is now. `elapsed_s` counts from the launch, `stage_s` from the stage's begin.

    `fraction` is how much of the stage is done by its bar or by the bytes read (`basis`: "bar" or
    "bytes"), None where neither tells; `rest_s` is what either says alone of the rest.
    """

    elapsed_s: float
    stage: Stage | None = None
    stage_s: float | None = None
    fraction: float | None = None
    rest_s: float | None = None
    basis: str = ""


def forecast_start(present: Present, starts: Sequence[StartTimes]) -> Eta | None:
    """What is left of the present stage and of the start; None when nothing can be said.

    `starts` are earlier ones of the same engine and model, that came up, on the same host.
    """
    if present.stage in _UP:
        return None
    chosen = choose_starts(starts)
    stage, ready = _forecast_stage(present, chosen), _forecast_ready(present, chosen)
    return Eta(stage, ready) if stage or ready else None


def _forecast_stage(present: Present, starts: Sequence[StartTimes]) -> Forecast | None:
    times = _times(present, starts)
    alone = Forecast(present.rest_s, basis=present.basis if present.rest_s is not None else "")
    if present.stage_s is None or not times:
        return alone if alone.has_content else None
    seconds = [time.seconds for _, time in times]
    known = replace(alone, starts=len(seconds), seen_s=(min(seconds), max(seconds)))
    if present.stage_s > max(seconds) + SLACK_S:
        return replace(known, is_overdue=True)
    if len(seconds) < LEAST_STARTS:
        return known
    lasting, weights, basis = _weigh(seconds, present.stage_s, present)
    rests = [whole - present.stage_s for whole in lasting]
    return _frame(known, rests, weights, basis)


def _forecast_ready(present: Present, starts: Sequence[StartTimes]) -> Forecast | None:
    if not starts:
        return None
    wholes = [start.ready_s for start in starts]
    known = Forecast(starts=len(starts), seen_s=(min(wholes), max(wholes)))
    if present.elapsed_s > max(wholes) + SLACK_S:
        return replace(known, is_overdue=True)
    if len(starts) < LEAST_STARTS:
        return known
    times = _times(present, starts)
    if present.stage_s is None or len(times) < LEAST_STARTS:
        rests = Spread(wholes).after(present.elapsed_s, POINTS)
        return _frame(known, [rest - present.elapsed_s for rest in rests], [1.0] * POINTS)
    rests_of = [start.ready_s - time.began_s for start, time in times]
    if present.stage_s > max(rests_of) + SLACK_S:
        return replace(known, is_overdue=True)
    if present.fraction is None:
        wholly = Spread(rests_of).after(present.stage_s, POINTS)
        return _frame(known, [rest - present.stage_s for rest in wholly], [1.0] * POINTS)
    seconds = [time.seconds for _, time in times]
    lasting, weights, basis = _weigh(seconds, present.stage_s, present)
    later = Spread(
        max(0.0, start.ready_s - time.began_s - time.seconds) for start, time in times
    ).after(0.0, LATER_POINTS)
    sums = [whole - present.stage_s + after for whole in lasting for after in later]
    return _frame(known, sums, [weight for weight in weights for _ in later], basis)


def _weigh(
    seconds: Sequence[float], elapsed_s: float, present: Present
) -> tuple[Sequence[float], list[float], str]:
    """How long a stage may last in all, each with its weight by what its bar shows.

    Earlier stages say how long it may last, the bar how likely each of that is: with a half done
    after 10 s, 20 s is likelier than 60 s. A bar's pace is no promise (memory-mapped shards fly by,
    and there is work after the last one), the less so the emptier it is.
    """
    lasting = Spread(seconds).after(elapsed_s, POINTS)
    fraction = present.fraction
    if fraction is None or fraction < LEAST_FRACTION or elapsed_s <= 0:
        return lasting, [1.0] * POINTS, "history"
    wanted = math.log(elapsed_s / min(fraction, 1.0))
    doubt = 0.15 + 0.6 * (1 - min(fraction, 1.0))
    far = [(math.log(max(whole, 1e-3)) - wanted) / doubt for whole in lasting]
    nearest = min(abs(one) for one in far)
    # A bar that none of the earlier stages agrees with is believed for the nearest of them.
    weights = [math.exp((nearest**2 - one**2) / 2) for one in far]
    return lasting, weights, f"history+{present.basis}"


def _frame(
    known: Forecast, rests: Sequence[float], weights: Sequence[float], basis: str = "history"
) -> Forecast:
    low, middle, high = weighted_quantiles(rests, weights, SHARES)
    return replace(
        known,
        expected_s=max(0.0, middle),
        low_s=max(0.0, low),
        high_s=max(0.0, high),
        basis=basis,
    )


def _times(present: Present, starts: Sequence[StartTimes]) -> list[tuple[StartTimes, StageTime]]:
    """The earlier starts that passed the present stage, with its time."""
    if present.stage is None:
        return []
    found = ((start, start.find(present.stage)) for start in starts)
    return [(start, time) for start, time in found if time is not None]
