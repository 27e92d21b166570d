"""How a server that something else keeps (a container, a pod, a unit) stands at the moment."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from firedup.host.base import LinkError, Trouble


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


_MOST_LETTERS = 200  # of an answer that is no answer


def read_object(text: str, word: str) -> Mapping[str, Any]:
    """The JSON object that a client told about `word`. LinkError when it is none."""
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise unreadable(text, word)
    return value


def unreadable(text: str, word: str) -> LinkError:
    """The error for an answer about `word` that is not what was asked for."""
    evidence = text.strip()[:_MOST_LETTERS] or "it said nothing"
    what = f"what was answered about {word} cannot be read"
    todo = "Is the program that was asked the real one, or a wrapper that prints words of its own?"
    return LinkError(Trouble.OTHER, what, evidence=evidence, todo=todo)


# A status above this is how shells and container engines tell an end by a signal.
_BY_SIGNAL = 128
_LAST_SIGNAL = 64


def split_status(status: int) -> tuple[int | None, int | None]:
    """(exit status, signal) of what a container engine calls an exit code: 137 is SIGKILL."""
    if _BY_SIGNAL < status <= _BY_SIGNAL + _LAST_SIGNAL:
        return None, status - _BY_SIGNAL
    return status, None
