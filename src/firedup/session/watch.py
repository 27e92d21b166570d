"""The loop that joins one server's log, processes and answers, and yields snapshots."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import replace
from typing import Any

from firedup.core.difference import Launch
from firedup.core.error import HostError
from firedup.core.event import (
    DeadlinePassed,
    Event,
    Sample,
)
from firedup.core.model import Snapshot, Stage, Verdict
from firedup.host.link import Agent
from firedup.probe.target import Target
from firedup.probe.token import PROMPT
from firedup.profile.pipeline import Pipeline
from firedup.session.clock import HostClock
from firedup.session.contact import Contact
from firedup.session.forecaster import Forecaster
from firedup.session.hook import Teller
from firedup.session.intake import Intake
from firedup.session.linked import Patience, run_linked
from firedup.session.precedent import Precedent, with_precedent
from firedup.session.prober import Prober
from firedup.session.recorder import Recorder, make_output
from firedup.session.stacks import Place
from firedup.session.stalltaker import StallTaker
from firedup.session.vigil import Vigil
from firedup.session.watching import Watching

__all__ = ["Feeder", "Watch", "Watching"]

# After a crash the cause may still be printed: wait for silence, but not for ever.
QUIET_S, DIAGNOSE_S = 2.0, 10.0
# Once the process has ended, nothing but what is already on its way can come.
DRAIN_S = 0.3
FLUSH_S = 5.0
LAST_LOOK_S = 5.0
FINAL_VERDICTS = (Verdict.STALLED, Verdict.TIMED_OUT, Verdict.LOST)

# A task that feeds events with the agent it is given; started again with a new agent when the link
# breaks.
Feeder = Callable[[Agent], Awaitable[object]]


class Watch:
    """One server being watched. Use `snapshots()` once."""

    def __init__(
        self,
        agent: Agent,
        pipeline: Pipeline,
        clock: HostClock,
        watching: Watching,
        *,
        log: str,
        recorder: Recorder | None = None,
    ) -> None:
        self.agent = agent
        self.pipeline = pipeline
        self.contact = Contact(agent, clock, self.feed)
        self.watching = watching
        self.intake = Intake(log, self.contact, self.feed)
        self.prober: Prober | None = None
        self.vigil: Vigil | None = None
        if watching.until == "exit" and watching.token_every_s is not None:
            every_s, in_doubt = watching.token_every_s, lambda: pipeline.is_in_doubt
            self.vigil = Vigil(lambda: self.prober, every_s, in_doubt)
        self.stalls = StallTaker(pipeline, self.feed, Place(conceal=watching.conceal))
        self.feeders: list[Feeder] = [self.intake.follow, self.stalls.keep]
        self.teller: Teller | None = None
        self.log = log
        self.launch: Launch | None = None  # with what a run was launched
        self.precedent: Precedent | None = None  # the last one like it that came up
        self.forecaster: Forecaster | None = None
        self.patience = Patience(watching.lost_after_s)
        self._recorder = recorder
        self.may_look = asyncio.Event()  # not while what is over is read: it is judged as a whole
        self.may_look.set()
        self._changed = asyncio.Event()
        self._begun_s = time.monotonic()
        self._crashed_s: float | None = None
        self._said: tuple[Verdict, Stage | None] | None = None
        self._has_expired = False

    @property
    def clock(self) -> HostClock:
        """The host's clock, as read at the beginning of the present link."""
        return self.contact.clock

    def feed(self, event: Event) -> None:
        """Give one event to the pipeline, to the record and to whoever waits for it."""
        self.pipeline.feed(event)
        if self._recorder is not None and not isinstance(event, Sample):  # the keeper has its own
            self._recorder.add(event)
        if self.prober is not None:
            self.prober.notice()
        if self.vigil is not None:
            self.vigil.heed(event)
        self._changed.set()

    def look(self) -> Snapshot:
        """The present snapshot. While the link is down it is that of the host's last word."""
        contact = self.contact
        snapshot = self.pipeline.snapshot(contact.now_ns(), contact.wall_ns())
        if self.precedent is not None and self.launch is not None:
            told = with_precedent(snapshot.explanation, self.precedent, self.launch)
            snapshot = replace(snapshot, explanation=told)
        if self.forecaster is not None:
            snapshot = self.forecaster.look(snapshot)
        link = contact.state()
        return snapshot if link is None else replace(snapshot, link=link)

    def ask_through(
        self,
        target: Target,
        identity: tuple[int, int] | None,
        family: Callable[[Agent], Awaitable[frozenset[int]]],
    ) -> Prober:
        """Let a prober ask the server at `target`; `identity` is its pid and start ticks.

        `family` finds its processes on the host, those that left its tree too.
        """
        self.prober = Prober(
            target,
            self.feed,
            self.pipeline,
            lambda: self.clock.boottime_ns(),  # noqa: PLW0108 - each link has its own
            lambda: identity,
            family,
            prompt=self.watching.prompt or PROMPT,
            max_tokens=self.watching.max_tokens,
            deadline_s=self.watching.token_s,
        )
        return self.prober

    async def snapshots(self) -> AsyncGenerator[Snapshot, None]:
        """A snapshot at each change and at least every tick; the last one is the conclusion."""
        work = asyncio.ensure_future(self._work())
        try:
            while True:
                self._changed.clear()
                snapshot = self.stalls.heed(self.look())
                self._record_verdict(snapshot)
                is_over = self._is_over(snapshot)
                if is_over and snapshot.explanation.verdict is not Verdict.READY:
                    yield replace(snapshot, is_final=True)
                else:
                    yield snapshot
                if self.teller is not None and not self.stalls.is_busy:  # a hook may end it
                    await self.teller.tell(lambda: self.agent, snapshot, is_over=is_over)
                if is_over:
                    break
                if work.done():
                    work.result()
                await self._next_change(work)
                await self.may_look.wait()
                await self._heed_limit()
        finally:
            await self._record_diagnosis()
            work.cancel()
            await asyncio.wait([work])

    async def _next_change(self, work: asyncio.Future[None]) -> None:
        waiter = asyncio.ensure_future(self._changed.wait())
        try:
            watched: list[asyncio.Future[Any]] = [waiter] if work.done() else [waiter, work]
            await asyncio.wait(watched, timeout=self._tick_s(), return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiter.cancel()

    def _tick_s(self) -> float:
        """Up to the next moment at which time alone may change something."""
        return 0.25 if self._crashed_s is not None else self.watching.tick_s

    async def _heed_limit(self) -> None:
        """Once the time is over: one last look, and if that shows no ready server, say so."""
        limit_s = self.watching.timeout_s
        if limit_s is None or self._has_expired or time.monotonic() - self._begun_s < limit_s:
            return
        if self.contact.is_behind:  # what happened meanwhile is still being read
            return
        self._has_expired = True
        if self.contact.is_down:
            self.feed(self.contact.lost(f"the link was down after {limit_s:g} s, the limit"))
            return
        if self.look().explanation.verdict is Verdict.LOADING and self.prober is not None:
            with contextlib.suppress(HostError, TimeoutError):
                async with asyncio.timeout(LAST_LOOK_S):
                    await self.prober.ask()
        if self.look().explanation.verdict is not Verdict.READY:
            self.feed(DeadlinePassed(self.clock.boottime_ns(), limit_s))

    def _is_over(self, snapshot: Snapshot) -> bool:
        verdict = snapshot.explanation.verdict
        now_s = time.monotonic()
        if verdict is Verdict.CRASHED:
            self._crashed_s = self._crashed_s or now_s
            waited_s = now_s - self._crashed_s
            quiet_s = snapshot.quiet_s if snapshot.quiet_s is not None else waited_s
            if snapshot.is_final and quiet_s >= DRAIN_S:
                return True
            return waited_s >= DIAGNOSE_S or min(quiet_s, waited_s) >= QUIET_S
        self._crashed_s = None
        if self.stalls.is_busy:
            return False
        if snapshot.is_final or verdict in (Verdict.LOST, Verdict.TIMED_OUT):
            return True
        if verdict is Verdict.STALLED and self.watching.ends_on_stall:
            return True
        if self.watching.until == "exit":
            return self._has_expired
        if verdict is Verdict.READY:
            return self.prober is None or self.prober.is_done
        return verdict in FINAL_VERDICTS

    async def _work(self) -> None:
        """Run the feeders over one link after the other; each goes on at the exact byte."""
        if not await run_linked(self.agent, self._run_feeders, self.contact, self.patience):
            self.feed(
                self.contact.lost(f"the host was not reached for {self.patience.lost_after_s:g} s")
            )

    async def _run_feeders(self, agent: Agent) -> None:
        self.agent = agent
        if self._recorder is not None:
            self._recorder.use(agent)
        if self.contact.has_restarted:
            await self._end_with_host(agent)
            return
        async with asyncio.TaskGroup() as group:
            for feeder in self.feeders:
                group.create_task(_forward(feeder(agent)))
            if self.prober is not None and not self.prober.is_done:
                self.prober.use(agent)
                group.create_task(self.prober.run())
            if self.vigil is not None:
                group.create_task(self.vigil.keep(agent))
            if self._recorder is not None:
                group.create_task(self._recorder.run())
            if self.contact.is_behind:
                group.create_task(self._settle(agent))

    async def _settle(self, agent: Agent) -> None:
        """Let the host's time go on once the log has been read up to the present."""
        await self.intake.catch_up(agent)
        self.contact.settle()
        self._changed.set()

    async def _end_with_host(self, agent: Agent) -> None:
        """The host was started again: read what the log got before, and say that all ended."""
        reading = asyncio.ensure_future(self.intake.follow(agent))
        try:
            await self.intake.catch_up(agent)
        finally:
            reading.cancel()
            await asyncio.wait([reading])
        self.contact.settle()
        if self.prober is not None:
            self.prober.is_done = True
        self.feed(self.contact.tell_restart(self.prober.identity() if self.prober else None))

    def _record_verdict(self, snapshot: Snapshot) -> None:
        """Record what was concluded and where the start is, each time that one of them changes."""
        said = (snapshot.explanation.verdict, snapshot.explanation.stage)
        if self._recorder is not None and said != self._said:
            self._said = said
            self._recorder.add_output("verdict", make_output(snapshot))

    async def _record_diagnosis(self) -> None:
        if self._recorder is not None:
            self._recorder.add_output("diagnosis", make_output(self.look()))
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(FLUSH_S):
                    await self._recorder.flush()


async def _forward(work: Awaitable[object]) -> None:
    await work
