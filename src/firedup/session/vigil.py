"""Asks a server that was ready for a token now and then, never while requests run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from firedup.core.event import Ended, Event, Exited, LogData, Sample, StopAsked
from firedup.host.link import Agent
from firedup.probe.running import count_running
from firedup.session.prober import Prober

EVERY_S = 300.0
# Before a failure is told it is asked once more: a request may have come between.
CONFIRM_S = 10.0
LOOK_S = 1.0
# A server without gauges is idle when its log has said nothing for so long.
QUIET_S = 15.0
_NS = 1_000_000_000


@dataclass(slots=True)
class Vigil:
    """Goes on where the prober has ended. `heed` each event; `keep` runs over one link.

    `prober` is asked for each time, because it comes late. A token is asked for every `every_s`
    seconds, and once more as soon as it `is_in_doubt`: a process of its engine is gone.
    """

    prober: Callable[[], Prober | None]
    every_s: float = EVERY_S
    is_in_doubt: Callable[[], bool] = bool
    _heard_ns: int | None = None
    _over: asyncio.Event = field(default_factory=asyncio.Event)
    _doubt: asyncio.Event = field(default_factory=asyncio.Event)

    def heed(self, event: Event) -> None:
        """Note when the log grew, and stop asking once an end was asked for or has come."""
        match event:
            case LogData():
                self._heard_ns = event.at_ns
            case Sample() if self.is_in_doubt():
                self._doubt.set()
            case StopAsked() | Exited() | Ended():
                self._over.set()
                self._doubt.set()

    async def keep(self, agent: Agent) -> None:
        """Ask now and then through `agent`, until the server's end."""
        has_doubted = False
        while not self._over.is_set():
            prober = self.prober()
            if prober is None or not prober.is_done:
                await _rest(LOOK_S, self._over)
                continue
            if not prober.can_ask_again or prober.target.spec.port is None:
                return
            await _rest(self.every_s, self._over if has_doubted else self._doubt)
            prober.use(agent)
            is_first_doubt = self._doubt.is_set() and not has_doubted
            has_doubted = has_doubted or is_first_doubt
            await self._ask(prober, is_in_doubt=is_first_doubt)

    async def _ask(self, prober: Prober, *, is_in_doubt: bool) -> None:
        """One question; a failure is told only when it is there twice without requests between.

        In doubt it is asked whatever its gauges say, for nobody may be there to lower them.
        """
        for is_last in (is_in_doubt, True):
            if self._over.is_set() or not (is_in_doubt or await self._is_idle(prober)):
                return
            answers = await prober.ask_again()
            if self._over.is_set():  # what a server says that is being ended is no news
                return
            if is_last or answers.token.has_answered or answers.token.is_skipped:
                prober.feed(answers.health)
                prober.feed(answers.token)
                return
            await _rest(CONFIRM_S, self._over)

    async def _is_idle(self, prober: Prober) -> bool:
        running = await count_running(prober.target)
        if running is not None:
            return running == 0
        return self._heard_ns is None or prober.now_ns() - self._heard_ns >= QUIET_S * _NS


async def _rest(seconds: float, unless: asyncio.Event) -> None:
    try:
        async with asyncio.timeout(seconds):
            await unless.wait()
    except TimeoutError:
        pass
