"""Gauge lines → what the log says about acceptance and throughput over time."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

from firedup.core.model import Gauge
from firedup.core.rule import Hit

# A capture with this ending is printed in percent and kept as a fraction.
_PERCENT = "_percent"


@dataclass(slots=True)
class _Series:
    last: float
    last_offset: int
    total: float
    least: float
    greatest: float
    count: int


class Readings:
    """Collects gauge hits; a line counts once, however often it is fed."""

    def __init__(self) -> None:
        self._series: dict[str, _Series] = {}

    def feed(self, hit: Hit) -> None:
        """Take one gauge hit, in log order."""
        for name in hit.rule.gauges:
            value = _value(hit.captures.get(name))
            if value is not None and name.endswith(_PERCENT):
                self._add(name.removesuffix(_PERCENT), value / 100, hit.line.offset)
            elif value is not None:
                self._add(name, value, hit.line.offset)

    def next_generation(self) -> None:
        """The log was replaced: offsets begin again."""
        for series in self._series.values():
            series.last_offset = -1

    def gauges(self, *, is_sampled: bool = False) -> tuple[Gauge, ...]:
        """All series in the order in which they first appeared."""
        return tuple(
            Gauge(name, s.last, s.total / s.count, s.least, s.greatest, s.count, is_sampled)
            for name, s in self._series.items()
        )

    def _add(self, name: str, value: float, offset: int) -> None:
        series = self._series.get(name)
        if series is None:
            self._series[name] = _Series(value, offset, value, value, value, 1)
            return
        if offset <= series.last_offset:
            return
        series.last, series.last_offset = value, offset
        series.total += value
        series.count += 1
        series.least = min(series.least, value)
        series.greatest = max(series.greatest, value)


def _value(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        value = float(text.replace(",", ""))
    except ValueError:
        return None
    return value if isfinite(value) else None
