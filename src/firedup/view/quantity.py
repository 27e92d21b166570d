"""Durations, sizes, shares, intervals and times of day as text, the same in every locale."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from firedup.core.measure.measured import Estimate

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def render_duration(seconds: float) -> str:
    """A length of time in its two most telling units: "0.4 s", "5 min 13 s", "1 h 02 min"."""
    seconds = max(0.0, seconds)
    if 0 < seconds < 0.05:
        return "<0.1 s"
    if seconds < 9.95:
        return f"{seconds:.1f} s".replace(".0", "")
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        minutes, rest = divmod(whole, 60)
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    if whole < 86_400:
        hours, rest = divmod(whole // 60, 60)
        return f"{hours} h {rest:02d} min" if rest else f"{hours} h"
    days, rest = divmod(whole // 3600, 24)
    return f"{days} d {rest} h" if rest else f"{days} d"


def render_remaining(seconds: float) -> str:
    """A forecast, which is never exact: "~20 s", "~2 min", "~1 h 10 min"."""
    if seconds < 10:
        return f"~{max(1, round(seconds))} s"
    if seconds < 90:
        return f"~{5 * round(seconds / 5)} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"~{minutes} min"
    hours, rest = divmod(5 * round(minutes / 5), 60)
    return f"~{hours} h {rest:02d} min" if rest else f"~{hours} h"


def render_offset(seconds: float) -> str:
    """Time since the launch, fixed in width below an hour: "+01:07", "+1:02:07"."""
    minutes, rest = divmod(int(max(0.0, seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"+{hours}:{minutes:02d}:{rest:02d}" if hours else f"+{minutes:02d}:{rest:02d}"


def render_clock(wall_ns: int | None, zone: tzinfo | None = None) -> str:
    """The time of day in `zone` (None: the zone of this process), "--:--:--" when unknown."""
    if wall_ns is None:
        return "--:--:--"
    return _moment(wall_ns).astimezone(zone).strftime("%H:%M:%S")


def render_rfc3339(wall_ns: int | None) -> str | None:
    """An instant in UTC with milliseconds, "2026-11-29T17:26:50.250Z"; None when unknown."""
    if wall_ns is None:
        return None
    return _moment(wall_ns).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def render_size(size_bytes: float) -> str:
    """A size in decimal units with three digits: "812 B", "4.39 GB", "547 GB"."""
    size = float(max(0.0, size_bytes))
    if size < 999.5:
        return f"{size:.0f} B"
    for unit in ("kB", "MB", "GB", "TB"):
        size /= 1000
        if size < 999.5:
            return f"{_three_digits(size)} {unit}"
    return f"{size / 1000:,.0f} PB"


def render_percent(fraction: float) -> str:
    """A share, where 100 % means all of it: "36 %"."""
    return "100 %" if fraction >= 1 else f"{min(99, round(100 * max(0.0, fraction)))} %"


def render_figure(value: float) -> str:
    """A measured number with three digits or more: "0.553", "2.65", "82.1", "1,240"."""
    if value == 0:
        return "0"
    if abs(value) < 0.0995:
        return f"{value:.2g}"
    return f"{value:,.0f}" if abs(value) >= 999.5 else _three_digits(value)


def render_estimate(one: Estimate, unit: str = "", *, digits: int = 2, scale: float = 1.0) -> str:
    """A figure with its unit, and its interval where it has one: "0.63x (0.60 to 0.67)"."""
    text = f"{scale * one.value:.{digits}f}{unit}"
    if one.low is None or one.high is None:
        return text
    return f"{text} ({scale * one.low:.{digits}f} to {scale * one.high:.{digits}f})"


def render_count(count: int, singular: str, plural: str | None = None) -> str:
    """A number with its noun: "1 rank", "8 ranks"."""
    return f"{count:,} {singular if count == 1 else plural or singular + 's'}"


def _three_digits(value: float) -> str:
    size = abs(value)
    if size >= 99.95:
        return f"{value:.0f}"
    if size >= 9.995:
        return f"{value:.1f}"
    return f"{value:.2f}" if size >= 0.9995 else f"{value:.3f}"


def _moment(wall_ns: int) -> datetime:
    # Integer arithmetic: a float of nanoseconds since 1970 is already wrong in the microseconds.
    return _EPOCH + timedelta(microseconds=wall_ns // 1000)
