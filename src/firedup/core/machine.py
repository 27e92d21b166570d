"""What samples tell besides processes: GPUs, open files, disks, a control group's memory."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU of the host. `use` is in percent, None where the driver does not say.

    `users` are those of the server's processes that it serves, as (pid, bytes); -1 bytes where
    the driver does not say. They are empty where its numbers are those of another name space.
    """

    index: int
    used_bytes: int
    total_bytes: int
    use: int | None = None
    users: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class OpenFile:
    """A file of a checkpoint that a process has open, and the offset of its reader in it."""

    pid: int
    path: str
    offset: int


@dataclass(frozen=True, slots=True)
class Disk:
    """The file system that a folder is on."""

    path: str
    free_bytes: int
    total_bytes: int


@dataclass(frozen=True, slots=True)
class GroupMemory:
    """The memory of a control group, page cache included.

    `limit_bytes` is the group's own limit, `limit_events` how often it was run into.
    """

    used_bytes: int
    limit_bytes: int | None = None
    limit_events: int = 0
