"""How long a start still takes, as far as that can be said: in words and as JSON."""

from __future__ import annotations

from firedup.core.forecast import Eta, Forecast
from firedup.core.model import Snapshot, Verdict
from firedup.view.quantity import render_count, render_duration, render_remaining
from firedup.view.record import round_s

SHARE = 0.8  # of such starts lie within an interval


def say_eta(snapshot: Snapshot) -> str:
    """When it is ready: "in ~2 min (1 min–4 min in 80 % of 12 starts)"; "" when nobody can say.

    With few earlier starts: "seen: 41 s–58 s in 3 starts", counted from the launch.
    """
    eta = snapshot.eta
    if eta is None or snapshot.explanation.verdict is not Verdict.LOADING:
        return ""
    if eta.ready is not None:
        return _say(eta.ready)
    stage, bar = eta.stage, snapshot.progress
    if stage is None or stage.expected_s is None or (bar is not None and stage.basis == "bar"):
        return ""  # the bar says the same
    return f"{snapshot.explanation.stage} {render_remaining(stage.expected_s)} more, by bytes read"


def _say(ready: Forecast) -> str:
    starts = render_count(ready.starts, "start")
    seen = "" if ready.seen_s is None else _span(*ready.seen_s)
    if ready.is_overdue:
        return f"later than in any of {starts} (seen: {seen})"
    if ready.expected_s is None or ready.low_s is None or ready.high_s is None:
        return f"seen: {seen} in {starts}"
    around = _span(ready.low_s, ready.high_s)
    return f"in {render_remaining(ready.expected_s)} ({around} in 80 % of {starts})"


def _span(low_s: float, high_s: float) -> str:
    low, high = render_duration(_whole(low_s)), render_duration(_whole(high_s))
    return low if low == high else f"{low}–{high}"


def _whole(seconds: float) -> float:
    """A forecast's end to the precision that it can have."""
    return float(round(seconds)) if seconds < 90 else 5.0 * round(seconds / 5)


def record_eta(eta: Eta | None) -> dict[str, object] | None:
    """The same as an object."""
    if eta is None:
        return None
    return {"stage": _record(eta.stage), "ready": _record(eta.ready)}


def _record(one: Forecast | None) -> dict[str, object] | None:
    if one is None:
        return None
    return {
        "remaining_s": round_s(one.expected_s),
        "low_s": round_s(one.low_s),
        "high_s": round_s(one.high_s),
        "share": None if one.low_s is None else SHARE,
        "basis": one.basis or None,
        "starts": one.starts,
        "seen_s": None if one.seen_s is None else [round_s(second) for second in one.seen_s],
        "overdue": one.is_overdue,
    }
