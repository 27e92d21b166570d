"""One process of a server's tree as a sample saw it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Process:
    """One process of the server's tree at a sample.

    `threads` is None in samples that were taken before more than CPU time, reads and memory was
    noted. `shared_bytes` are resident bytes of files and shared memory. `title` is what a program
    calls itself, where that is longer than the kernel's `name`. `wait_status` is how a zombie
    ended, as wait() will tell it; None also where that is 0 or cannot be read.
    """

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
    minor_faults: int | None = None
    major_faults: int | None = None
    shared_bytes: int | None = None
    threads: int | None = None
    title: str | None = None
    wait_status: int | None = None
