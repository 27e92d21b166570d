"""Acceptance and speed from a log, for people and for programs."""

from __future__ import annotations

from firedup.core.measure.logged import Logged
from firedup.core.model import Gauge
from firedup.view.paper import Paper
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
    if found.length is not None:
        rate = "" if found.rate is None else f", {found.rate:.0%} of drafted tokens accepted"
        lines.append(f"  acceptance length       {found.length:.2f}{rate}")
    else:
        if found.rate is not None:
            lines.append(f"  acceptance rate         {found.rate:.0%}")
        lines += paper.fold(f"no acceptance length: {found.why_not}", indent="  ", rest="    ")
    if logged.speed is not None:
        speed = logged.speed
        what = "of an answer" if logged.engine == "llama-cpp" else "of all streams"
        text = f"{speed.mean:.1f} {what} ({speed.least:.1f} to {speed.greatest:.1f})"
        lines.append(f"  tokens/s                {text}")
    if logged.streams is not None:
        streams = logged.streams
        lines.append(
            f"  streams under way       {streams.mean:.1f} ({streams.least:g} to"
            f" {streams.greatest:g})"
        )
    if logged.windows is not None:
        sampled = ", and not all of a big log was read" if logged.is_sampled else ""
        lines += paper.fold(f"over {logged.windows}{sampled}", indent="  ", rest="    ")
        lines += paper.fold(_CAVEAT, indent="  ", rest="    ")
    return lines


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
