"""Prometheus text → samples: name, labels, value."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import isfinite

_SAMPLE = re.compile(
    r"(?P<name>[A-Za-z_:][\w:]*)(?:\{(?P<labels>.*)\})?[ \t]+(?P<value>\S+)(?:[ \t]+-?\d+)?[ \t]*$"
)
_LABEL = re.compile(r'(?P<key>[A-Za-z_]\w*)="(?P<value>(?:[^"\\]|\\.)*)"')
_ESCAPES = {"\\n": "\n", '\\"': '"', "\\\\": "\\"}


@dataclass(frozen=True, slots=True)
class MetricSample:
    """One line of a scrape."""

    name: str
    labels: Mapping[str, str]
    value: float


def parse_exposition(text: str) -> tuple[MetricSample, ...]:
    """All samples of a scrape in order; comments and lines of other forms are left out.

    So are NaN and infinity, which servers write of what never happened.
    """
    found = []
    for line in text.splitlines():
        if line.startswith("#") or not (match := _SAMPLE.match(line)):
            continue
        try:
            value = float(match["value"])
        except ValueError:
            continue
        if not isfinite(value):
            continue
        labels = {m["key"]: _unescape(m["value"]) for m in _LABEL.finditer(match["labels"] or "")}
        found.append(MetricSample(match["name"], labels, value))
    return tuple(found)


def total_of(samples: Iterable[MetricSample], name: str) -> float | None:
    """The sum of all series of exactly `name` (engines and ranks added up), None if absent."""
    values = [sample.value for sample in samples if sample.name == name]
    return sum(values) if values else None


def _unescape(text: str) -> str:
    return re.sub(r'\\[n"\\]', lambda m: _ESCAPES[m[0]], text) if "\\" in text else text
