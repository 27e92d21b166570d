"""The loop that joins one server's log, processes and answers, and yields snapshots."""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from firedup.core.error import HostError
from firedup.core.event import (
    DeadlinePassed,
    Ended,
    Event,
    LinkChanged,
)
from firedup.core.model import Snapshot, Verdict
from firedup.host.base import OperationError
from firedup.host.file import LogPosition, follow_log
from firedup.host.link import Agent, open_agent
from firedup.profile.pipeline import Pipeline
from firedup.session.clock import HostClock
from firedup.session.prober import Prober
from firedup.session.recorder import Recorder

# After a crash the cause may still be printed: wait for silence, but not for ever.
QUIET_S, DIAGNOSE_S = 2.0, 10.0
# Once the process has ended, nothing but what is already on its way can come.
DRAIN_S = 0.3
RECONNECT_S = (0.2, 1.0, 3.0, 10.0, 20.0)
FINAL_VERDICTS = (Verdict.STALLED, Verdict.TIMED_OUT, Verdict.LOST)


@dataclass(frozen=True, slots=True)
class Watching:
    """How to watch. `until`: "ready" (any verdict ends it) or "exit".

    `timeout_s` None watches without limit. `tail_lines` and `highlight` are for the classic
    format. `tick_s` is the longest time between two snapshots. `prompt` and `max_tokens` shape the
    first tokens; None takes the least that proves readiness.
    """

    until: str = "ready"
    timeout_s: float | None = 1800.0
    tail_lines: int = 0
    highlight: re.Pattern[str] | None = None
    tick_s: float = 1.0
    prompt: str | None = None
    max_tokens: int | None = None


# A task that feeds events with the agent it is given; started again with a new agent when the link
# breaks.
Feeder = Callable[[Agent], Awaitable[None]]
# Told once about each verdict that somebody may want to act on, a crash when its cause is known.
Listener = Callable[[Agent, Snapshot], Awaitable[None]]


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
        self.clock = clock
        self.watching = watching
        self.position = LogPosition()
        self.prober: Prober | None = None
        self.feeders: list[Feeder] = [self._follow_log]
        self.listener: Listener | None = None
        self.log = log
        self._recorder = recorder
        self._changed = asyncio.Event()
        self._begun_s = time.monotonic()
        self._crashed_s: float | None = None
        self._said: Verdict | None = None
        self._told: set[Verdict] = set()

    def feed(self, event: Event) -> None:
        """Give one event to the pipeline, to the record and to whoever waits for it."""
        self.pipeline.feed(event)
        if self._recorder is not None:
            self._recorder.add(event)
        if self.prober is not None:
            self.prober.nudge.set()
        self._changed.set()

    def look(self) -> Snapshot:
        """The present snapshot."""
        return self.pipeline.snapshot(self.clock.boottime_ns(), self.clock.wall_ns())

    async def snapshots(self) -> AsyncIterator[Snapshot]:
        """A snapshot at each change and at least every tick; the last one is the conclusion."""
        work = asyncio.ensure_future(self._work())
        try:
            while True:
                self._changed.clear()
                snapshot = self.look()
                self._record_verdict(snapshot)
                is_over = self._is_over(snapshot)
                await self._tell(snapshot, is_over=is_over)
                yield snapshot
                if is_over:
                    break
                if work.done():
                    work.result()
                await self._next_change(work)
                if await self._has_expired(snapshot):
                    self.feed(DeadlinePassed(self.clock.boottime_ns(), self._limit_s()))
        finally:
            work.cancel()
            await asyncio.wait([work])
            if self._recorder is not None:
                self._record_diagnosis()
                await self._recorder.flush()

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

    def _limit_s(self) -> float:
        return self.watching.timeout_s or 0.0

    async def _has_expired(self, snapshot: Snapshot) -> bool:
        limit_s = self.watching.timeout_s
        if limit_s is None or time.monotonic() - self._begun_s < limit_s:
            return False
        if snapshot.explanation.verdict is not Verdict.LOADING or self.prober is None:
            return snapshot.explanation.verdict in (Verdict.LOADING, Verdict.UNKNOWN)
        # One last look before the time is declared over.
        with contextlib.suppress(HostError, TimeoutError):
            async with asyncio.timeout(5.0):
                await self.prober.ask()
        return self.look().explanation.verdict is not Verdict.READY

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
        if snapshot.is_final or verdict in (Verdict.LOST, Verdict.TIMED_OUT):
            return True
        if self.watching.until == "exit":
            return False
        if verdict is Verdict.READY:
            return self.prober is None or self.prober.is_done
        return verdict in FINAL_VERDICTS

    async def _work(self) -> None:
        """Run the feeders; when the link breaks, take a new one and go on at the exact byte."""
        if await self._run_until_broken(self.agent):
            return
        for pause_s in RECONNECT_S:
            await asyncio.sleep(pause_s)
            try:
                async with open_agent(self.agent.host) as agent:
                    self.clock = await HostClock.read(agent)
                    self.feed(LinkChanged(self.clock.boottime_ns(), is_up=True))
                    if await self._run_until_broken(agent):
                        return
            except OperationError:
                raise
            except HostError as error:
                self._say_down(error)
        self.feed(Ended(self.clock.boottime_ns(), is_lost=True))

    async def _run_until_broken(self, agent: Agent) -> bool:
        """True when all feeders ended; False when the link broke. Refusals are raised singly."""
        refusals: list[Exception] = []
        is_whole = True
        try:
            await self._run_feeders(agent)
        except* OperationError as group:
            refusals = [_first(group)]
        except* HostError as group:
            self._say_down(_first(group))
            is_whole = False
        if refusals:
            raise refusals[0]
        return is_whole

    async def _run_feeders(self, agent: Agent) -> None:
        if self._recorder is not None:
            self._recorder.use(agent)
        async with asyncio.TaskGroup() as group:
            for feeder in self.feeders:
                group.create_task(_forward(feeder(agent)))
            if self.prober is not None and not self.prober.is_done:
                self.prober.use(agent)
                group.create_task(self.prober.run())
            if self._recorder is not None:
                group.create_task(self._recorder.run())

    async def _follow_log(self, agent: Agent) -> None:
        with closing(follow_log(agent, self.log, self.position)) as reader:
            async for event in reader:
                self.position = reader.position
                self.feed(event)

    def _say_down(self, error: Exception) -> None:
        self.feed(LinkChanged(self.clock.boottime_ns(), is_up=False, detail=str(error)))

    async def _tell(self, snapshot: Snapshot, *, is_over: bool) -> None:
        verdict = snapshot.explanation.verdict
        if self.listener is None or verdict in self._told:
            return
        if verdict in (Verdict.READY, Verdict.STALLED) or (is_over and verdict is Verdict.CRASHED):
            self._told.add(verdict)
            with contextlib.suppress(HostError):  # a hook must never disturb the watch
                await self.listener(self.agent, snapshot)

    def _record_verdict(self, snapshot: Snapshot) -> None:
        verdict = snapshot.explanation.verdict
        if self._recorder is None or verdict is self._said:
            return
        self._said = verdict
        if verdict not in (Verdict.LOADING, Verdict.UNKNOWN):
            self._recorder.add_output("verdict", _output(snapshot))

    def _record_diagnosis(self) -> None:
        if self._recorder is not None:
            self._recorder.add_output("diagnosis", _output(self.look()))


def _first(group: BaseExceptionGroup[Exception]) -> Exception:
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error if isinstance(error, Exception) else RuntimeError(str(error))


async def _forward(work: Awaitable[None]) -> None:
    await work


def _output(snapshot: Snapshot) -> dict[str, object]:
    """What `ps` shows of a run without reading its log again."""
    explanation = snapshot.explanation
    cause = explanation.cause
    return {
        "at_ns": snapshot.now_ns,
        "verdict": explanation.verdict,
        "stage": explanation.stage,
        "cause": cause.failure if cause else None,
        "line": cause.line[:300] if cause else None,
        "acceptance_length": snapshot.acceptance.length if snapshot.acceptance else None,
    }
