"""Tells of each verdict once, whatever the link does, and lets the host run hooks for it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from firedup.core.error import HostError
from firedup.core.model import Snapshot, Verdict
from firedup.host.base import OperationError
from firedup.host.link import Agent

# How long the end of a watch waits for a link over which a hook can still be run.
LAST_CHANCE_S, PAUSE_S = 10.0, 0.25
TOLD_OF = (Verdict.READY, Verdict.STALLED, Verdict.CRASHED)

Listener = Callable[[Agent, Snapshot], Awaitable[None]]


class Teller:
    """Calls `listener` once for each verdict that somebody may want to act on."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._told: set[Verdict] = set()

    async def tell(self, agent: Callable[[], Agent], snapshot: Snapshot, *, is_over: bool) -> None:
        """Tell of the verdict of `snapshot`; what a broken link swallowed is told the next time.

        Of a crash only when all `is_over`, since its cause may still come. Then there is no next
        time, so that a renewed link (`agent` gives the present one) is waited for.
        """
        verdict = snapshot.explanation.verdict
        if verdict not in TOLD_OF or verdict in self._told:
            return
        if verdict is Verdict.CRASHED and not is_over:
            return
        limit_s = time.monotonic() + LAST_CHANCE_S
        while not await self._try_once(agent(), snapshot):
            if not is_over or time.monotonic() > limit_s:
                return
            await asyncio.sleep(PAUSE_S)

    async def _try_once(self, agent: Agent, snapshot: Snapshot) -> bool:
        """Whether the listener was told, or never will be. It must not disturb the watch."""
        try:
            await self._listener(agent, snapshot)
        except OperationError:
            pass  # the host refuses, and would again
        except HostError:
            return False
        self._told.add(snapshot.explanation.verdict)
        return True


async def run_hooks(run_id: str, agent: Agent, snapshot: Snapshot) -> None:
    """Let the host run what `--on` asked for; the agent sees to it that it happens once."""
    explanation, spec = snapshot.explanation, snapshot.spec
    cause = explanation.cause
    facts = {
        "verdict": explanation.verdict.value,
        "stage": explanation.stage.value if explanation.stage else "",
        "cause": cause.failure if cause else "",
        "cause_line": cause.line if cause else "",
        "engine": explanation.engine or "",
        "port": str(spec.port or ""),
        "model": spec.model or "",
    }
    await agent.call("hook", run=run_id, on=explanation.verdict.value, facts=facts)
