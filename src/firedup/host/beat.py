"""Signs of life: notices a link that swallows bytes and says nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Beat:
    """After `every_s` of silence the agent is asked something; after `dead_s` the link is dead."""

    every_s: float = 5.0
    dead_s: float = 15.0


async def keep_beating(
    beat: Beat, silent_s: Callable[[], float], ask: Callable[[], None], die: Callable[[float], None]
) -> None:
    """Until the link is dead: `die` is then called with how long nothing came.

    Both times count while this machine is awake and this program runs: what stood still here says
    nothing about the link, so that at least one question must have gone unanswered.
    """
    asked = 0
    while True:
        await asyncio.sleep(beat.every_s)
        silence_s = silent_s()
        if silence_s < beat.every_s:
            asked = 0
            continue
        if asked and silence_s >= beat.dead_s:
            die(silence_s)
            return
        ask()
        asked += 1
