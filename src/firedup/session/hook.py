"""Tells of what happened to a run once, whatever the link does, and lets the host run hooks."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import closing

from firedup.core.error import HostError
from firedup.core.model import Snapshot, Verdict
from firedup.host.base import OperationError
from firedup.host.link import Agent

# How long the end of a watch waits for a link over which a hook can still be run.
LAST_CHANCE_S, PAUSE_S = 10.0, 0.25
TOLD_OF = (Verdict.READY, Verdict.STALLED, Verdict.CRASHED)
EXITED = "exited"

Listener = Callable[[Agent, Snapshot, str], Awaitable[None]]


class Teller:
    """Calls `listener` once for each event (a verdict, or "exited") that somebody may act on."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._told: set[str] = set()

    async def tell(self, agent: Callable[[], Agent], snapshot: Snapshot, *, is_over: bool) -> None:
        """Tell of what `snapshot` shows; what a broken link swallowed is told the next time.

        Of an end only when all `is_over`, since its cause may still come. Then there is no next
        time, so that a renewed link (`agent` gives the present one) is waited for.
        """
        limit_s = time.monotonic() + LAST_CHANCE_S
        for event in _events_of(snapshot, is_over=is_over):
            while event not in self._told and not await self._try_once(agent(), snapshot, event):
                if not is_over or time.monotonic() > limit_s:
                    return
                await asyncio.sleep(PAUSE_S)

    async def _try_once(self, agent: Agent, snapshot: Snapshot, event: str) -> bool:
        """Whether the listener was told, or never will be. It must not disturb the watch."""
        try:
            await self._listener(agent, snapshot, event)
        except OperationError:
            pass  # the host refuses, and would again
        except HostError:
            return False
        self._told.add(event)
        return True


def _events_of(snapshot: Snapshot, *, is_over: bool) -> tuple[str, ...]:
    verdict, events = snapshot.explanation.verdict, []
    if verdict in TOLD_OF and (is_over or verdict is not Verdict.CRASHED):
        events.append(verdict.value)
    if snapshot.explanation.exited and is_over:
        events.append(EXITED)
    return tuple(events)


async def run_hooks(
    run_id: str, clean: Callable[[str], str] | None, agent: Agent, snapshot: Snapshot, event: str
) -> None:
    """Let the host tell whom `--on` and `--notify` name; it sees to it that this happens once.

    `clean` takes secrets out of the line that was the cause; without it the line is not told.
    """
    explanation = snapshot.explanation
    cause, served_s = explanation.cause, explanation.served_s
    facts = {
        "verdict": explanation.verdict.value,
        "stage": explanation.stage.value if explanation.stage else None,
        "cause": cause.failure if cause else None,
        "cause_line": clean(cause.line) if cause and clean else None,
        "engine": explanation.engine,
        "exit_code": snapshot.exit_code,
        "exit_signal": snapshot.exit_signal,
        "served_s": round(served_s, 1) if served_s is not None else None,
    }
    await agent.call("hook", run=run_id, on=event, facts=facts)


async def attend_run(run_id: str, agent: Agent) -> None:
    """Let the keeper of a run know, for as long as this goes on, that a client watches it."""
    stream = agent.open("attend", run=run_id)
    with closing(stream):
        try:
            async for _ in stream:
                pass
        except OperationError:
            return  # the run is gone, or its disk is full: then the keeper tells first
