"""How long a bar still needs, when that can be said honestly."""

from __future__ import annotations

import re

# A bar younger than this, or with fewer steps, promises nothing: memory-mapped shards fly by first.
MIN_ELAPSED_S = 3.0
MIN_DONE = 2

_CLOCK = re.compile(r"^(?:(?:(\d+):)?(\d+):)?(\d+(?:\.\d+)?)$")


def parse_clock(text: str) -> float | None:
    """Seconds of a bar's "MM:SS", "H:MM:SS" or "SS.s"; None for "?" and the like."""
    found = _CLOCK.match(text.strip())
    if found is None:
        return None
    hours, minutes, seconds = found.groups()
    return int(hours or 0) * 3600 + int(minutes or 0) * 60 + float(seconds)


def remaining_of_bar(done: int, total: int, elapsed_s: float | None) -> float | None:
    """Seconds until a bar is full at its mean pace; None while that would be a guess.

    A full bar says nothing about the stage, which may go on (repacking, slower ranks): None too.
    """
    if elapsed_s is None or elapsed_s < MIN_ELAPSED_S or not MIN_DONE <= done < total:
        return None
    return elapsed_s / done * (total - done)
