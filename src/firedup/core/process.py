"""One process of a server's tree as a sample saw it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Process:
    """One process of the server's tree at a sample."""

    pid: int
    start_ticks: int
    parent: int
    name: str
    state: str  # one letter of /proc/PID/stat
    cpu_s: float
    rss_bytes: int
    read_bytes: int | None = None
    write_bytes: int | None = None
    wait_channel: str | None = None
