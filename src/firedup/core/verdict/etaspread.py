"""Durations that were measured → where the next one of their kind will lie."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence

# Durations are compared by their logarithm, after adding this: a stage that takes 0.1 s in one
# start and 0.3 s in another has not grown threefold in any sense that matters.
SHIFT_S = 0.5
# Five starts that happen to take the same time do not make the sixth certain.
LEAST_SPREAD = 0.03
# How fast probability falls off beyond the longest and the shortest, in standard deviations: about
# as Student's t does there for five to nine values.
TAIL = 0.9


class Spread:
    """Where the next duration will lie, from `seconds` of earlier ones, two at least.

    The n earlier ones cut the line into n + 1 pieces, and the next one falls into each with the
    same chance, whatever the distribution. Between them it is interpolated on a logarithmic scale,
    beyond them the chance falls off by how far they lie apart.
    """

    def __init__(self, seconds: Iterable[float]) -> None:
        self._logs = sorted(math.log(max(0.0, second) + SHIFT_S) for second in seconds)
        count = len(self._logs)
        mean = math.fsum(self._logs) / count
        squares = math.fsum((log - mean) ** 2 for log in self._logs)
        spread = math.sqrt(squares / max(1, count - 1) * (1 + 1 / count))
        self._tail = TAIL * max(LEAST_SPREAD, spread)

    def share(self, seconds: float) -> float:
        """The chance that the next one takes no longer than `seconds`."""
        log = math.log(max(0.0, seconds) + SHIFT_S)
        logs, count = self._logs, len(self._logs)
        if log < logs[0]:
            return math.exp((log - logs[0]) / self._tail) / (count + 1)
        if log >= logs[-1]:
            return 1 - math.exp((logs[-1] - log) / self._tail) / (count + 1)
        place = bisect_right(logs, log)
        part = (log - logs[place - 1]) / (logs[place] - logs[place - 1])
        return (place + part) / (count + 1)

    def quantile(self, share: float) -> float:
        """The duration that the next one exceeds with the chance 1 − `share`."""
        logs, count = self._logs, len(self._logs)
        place = share * (count + 1)
        if place < 1:
            log = logs[0] + self._tail * math.log(max(place, 1e-9))
        elif place >= count:
            log = logs[-1] - self._tail * math.log(max(count + 1 - place, 1e-9))
        else:
            low = int(place)
            log = logs[low - 1] + (place - low) * (logs[low] - logs[low - 1])
        return max(0.0, math.exp(log) - SHIFT_S)

    def after(self, elapsed_s: float, count: int) -> tuple[float, ...]:
        """`count` durations, each as likely, of one that has lasted `elapsed_s` already."""
        past = self.share(elapsed_s) if elapsed_s > 0 else 0.0
        steps = ((step + 0.5) / count for step in range(count))
        return tuple(max(elapsed_s, self.quantile(past + (1 - past) * step)) for step in steps)


def weighted_quantiles(
    values: Sequence[float], weights: Sequence[float], shares: Sequence[float]
) -> tuple[float, ...]:
    """The values below which `shares` of the weight lie, interpolated between their middles."""
    pairs = sorted(zip(values, weights, strict=True))
    whole = math.fsum(weights)
    found = []
    for share in shares:
        wanted, passed = share * whole, 0.0
        at, before = pairs[0][0], None
        for value, weight in pairs:
            middle = passed + weight / 2
            if middle >= wanted:
                if before is not None and middle > before[0]:
                    part = (wanted - before[0]) / (middle - before[0])
                    at = before[1] + part * (value - before[1])
                else:
                    at = value
                break
            before, passed, at = (middle, value), passed + weight, value
        found.append(at)
    return tuple(found)
