"""Acceptance and speed from a log, for people and for programs."""

from __future__ import annotations

from firedup.core.measure.logged import Logged
from firedup.core.model import Gauge
from firedup.view.paper import Paper
from firedup.view.probetable import render_rows
from firedup.view.record import SCHEMA

_CAVEAT = (
    "These are means over all windows of the log, warm-up included; for a figure with an interval"
    " and a verdict, probe the server while it is up."
)


def render_logged(logged: Logged, paper: Paper) -> list[str]:
    """A few lines: what the log says, over which windows, and what that is worth."""
    found = logged.acceptance
    name = " ".join(word for word in (logged.engine, logged.version) if word)
    lines = [paper.paint(f"from the log of {name or 'an unknown engine'}", "bold")]
    lines += render_rows(_rows(logged), paper)
    if found.length is None:
        lines += paper.fold(f"no acceptance length: {found.why_not}", indent="  ", rest="    ")
    if logged.windows is not None:
        sampled = ", and not all of a big log was read" if logged.is_sampled else ""
        lines += paper.fold(f"over {logged.windows}{sampled}", indent="  ", rest="    ")
        lines += paper.fold(_CAVEAT, indent="  ", rest="    ")
    return lines


def _rows(logged: Logged) -> list[tuple[str, str]]:
    found, speed, streams = logged.acceptance, logged.speed, logged.streams
    rate = "" if found.rate is None else f"{found.rate:.0%} of drafted tokens"
    what = "of an answer" if logged.engine == "llama-cpp" else "of all streams"
    return [
        ("acceptance length", "" if found.length is None else f"{found.length:.2f}"),
        ("accepted", rate),
        ("tokens/s", "" if speed is None else f"{speed.mean:.1f} {what} {_span(speed, '.1f')}"),
        (
            "streams under way",
            "" if streams is None else f"{streams.mean:.1f} {_span(streams, 'g')}",
        ),
    ]


def _span(gauge: Gauge, form: str) -> str:
    return f"({gauge.least:{form}} to {gauge.greatest:{form}})"


def record_logged(logged: Logged) -> dict[str, object]:
    """The same for programs."""
    found = logged.acceptance
    return {
        "schema": SCHEMA,
        "engine": logged.engine,
        "version": logged.version,
        "acceptance": {
            "length": found.length,
            "rate": found.rate,
            "source": found.source or None,
            "why_not": found.why_not,
        },
        "tokens_per_s": _record(logged.speed),
        "streams": _record(logged.streams),
        "windows": logged.windows,
        "sampled": logged.is_sampled,
    }


def _record(gauge: Gauge | None) -> dict[str, object] | None:
    if gauge is None:
        return None
    return {
        "mean": gauge.mean,
        "min": gauge.least,
        "max": gauge.greatest,
        "last": gauge.last,
        "count": gauge.count,
    }
