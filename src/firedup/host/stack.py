"""The stacks of a server's processes, typed, as the agent takes them on the host."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from firedup.host.link import Agent

_MARGIN_S = 30.0  # the link's own limit comes last


@dataclass(frozen=True, slots=True)
class ProcessStack:
    """What one process does at a moment.

    `by` is "py-spy", "faulthandler", "kernel" or "none": whose words `text` are. `kernel` is the
    kernel's view of its threads where that can be read, `state` and `wchan` those of its main
    thread. `why_not` says in words why no better way was taken, empty after py-spy. `starttime` is
    in the kernel's ticks, 0 for a process that is gone.
    """

    pid: int
    starttime: int
    title: str
    state: str
    wchan: str
    by: str
    text: str
    kernel: str
    why_not: str


@dataclass(frozen=True, slots=True)
class Taken:
    """The stacks of several processes, in the order asked for; `at_ns` is the host's boot clock."""

    taken: tuple[ProcessStack, ...]
    at_ns: int


async def take_stacks(
    agent: Agent, pids: Sequence[int], *, limit_s: float, is_armed: bool
) -> Taken:
    """Takes the stacks of `pids`, none of which is stopped for it, within about `limit_s`.

    Where py-spy is missing or not allowed, a Python process is asked by a signal if the run
    `is_armed` and that process catches the signal. A process that is gone has an entry that says
    so.
    """
    answer = await agent.call(
        "stacks", pids=list(pids), limit_s=limit_s, armed=is_armed, timeout_s=limit_s + _MARGIN_S
    )
    return msgspec.convert(answer, Taken)
