"""How a server that something else keeps (a container, a pod, a unit) stands at the moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Standing:
    """What the keeper of a server says about it. `start` names its present or last start.

    `pid` is that on the host where the keeper tells it. `code`, `signal` and `oom_killed` tell its
    end. `argv` is the whole command. `published` maps ports of the server to (address, port) on
    the host; `address` is the server's own. `is_on_host`: it uses the host's network itself.
    """

    start: str
    is_running: bool
    is_waiting: bool = False
    words: str = ""
    pid: int | None = None
    code: int | None = None
    signal: int | None = None
    oom_killed: bool | None = None
    started_wall_ns: int | None = None
    finished_wall_ns: int | None = None
    argv: tuple[str, ...] = ()
    image: str = ""
    restarts: int = 0
    address: str | None = None
    published: Mapping[int, tuple[str, int]] = field(default_factory=dict)
    is_on_host: bool = False


# A status above this is how shells and container engines tell an end by a signal.
_BY_SIGNAL = 128
_LAST_SIGNAL = 64


def split_status(status: int) -> tuple[int | None, int | None]:
    """(exit status, signal) of what a container engine calls an exit code: 137 is SIGKILL."""
    if _BY_SIGNAL < status <= _BY_SIGNAL + _LAST_SIGNAL:
        return None, status - _BY_SIGNAL
    return status, None
