"""A link to a host that is down: since when, why, and what is known of the host meanwhile."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LinkState:
    """The server's state is unknown, and everything said about it is as of `as_of_ns`.

    `down_s` counts by the client's clock while it is awake. `trouble` is one of the documented
    words, `detail` what was seen. `next_try_s` is how long until the next try, None while one goes
    on. `as_of_ns` is host wall time, in nanoseconds since the epoch.
    """

    down_s: float
    trouble: str
    detail: str
    next_try_s: float | None = None
    as_of_ns: int | None = None
