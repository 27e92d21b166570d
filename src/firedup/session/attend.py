"""The watch over a log whose server firedup did not launch."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass, replace

from firedup.core.error import UsageError
from firedup.core.event import Begun, Ended, Event, Exited, LogData
from firedup.core.model import ServerSpec, Snapshot
from firedup.core.rule import Matcher
from firedup.host.base import OperationError
from firedup.host.file import FileFacts, open_file, stat_file
from firedup.host.frame import Data
from firedup.host.link import Agent
from firedup.host.process import TICKS_PER_S, ProcessFacts, wait_gone
from firedup.probe.target import make_target
from firedup.profile.command import read_command
from firedup.profile.schema import Catalogue
from firedup.session.clock import HostClock
from firedup.session.family import find_writers
from firedup.session.find import find_writer
from firedup.session.foresee import foresee
from firedup.session.history import LastBytes, position_after
from firedup.session.linked import LinkSpeaker, Patience
from firedup.session.path import path_on
from firedup.session.prepared import prepare_linked
from firedup.session.sample import feed_samples
from firedup.session.watch import Watch, Watching
from firedup.session.watching import make_pipeline

_NS = 1_000_000_000
# A log that nobody writes and that was last written longer ago than this tells of the past.
STALE_S = 60.0
# One that was written just now may have lost its writer to a restart: so long is waited for a new.
GRACE_S, GRACE_PAUSE_S = 3.0, 0.2
SEARCH_PAUSE_S = 2.0
# The time of a write is told by a clock that may lag.
START_MARGIN_S = 0.05
GONE_WAIT_S = 3600.0


async def watch_log(
    agent: Agent,
    catalogue: Catalogue,
    matcher: Matcher,
    log: str,
    watching: Watching,
    *,
    pid: int | None = None,
    engine: str | None = None,
) -> AsyncIterator[Snapshot]:
    """Watch the log at `log` (on the host) and the process that writes it, to a conclusion.

    The process is looked for by itself unless `pid` names it. A log that is not there yet is
    waited for. A stale one is explained at once.
    """

    async def prepare(agent: Agent) -> Watch:
        return await _prepare(agent, catalogue, matcher, log, watching, pid, engine)

    speaker, patience = LinkSpeaker(watching.say), Patience(watching.lost_after_s)
    async with prepare_linked(agent, prepare, speaker, patience) as watch:
        if not watch.feeders:
            yield watch.look()
            return
        async with aclosing(watch.snapshots()) as snapshots:
            async for snapshot in snapshots:
                yield snapshot


async def _prepare(
    agent: Agent,
    catalogue: Catalogue,
    matcher: Matcher,
    log: str,
    watching: Watching,
    pid: int | None,
    engine: str | None,
) -> Watch:
    path = path_on(agent, log)
    facts = await stat_file(agent, path)
    if facts is not None and facts.kind == "folder":
        raise UsageError(f"{path} is a directory, not a log", todo="Name the log file in it.")
    clock = await HostClock.read(agent)
    pipeline = make_pipeline(matcher, clock.wall_ns(), watching, engine=engine)
    watch = Watch(agent, pipeline, clock, watching, log=path)
    begun = Begun(
        clock.boottime_ns(),
        clock.wall_ns(),
        ServerSpec(engine=engine),
        log=path,
        stage_limits=watching.stage_limits,
    )
    guide = _Guide(watch, catalogue, begun, engine, past=facts)
    settled = await guide.settle(agent, facts, pid)
    if facts is not None:
        # What was written before the watch began has only the log's own clock.
        read = await _read_log(agent, path, facts.size, pipeline.feed)
        watch.intake.position = await position_after(agent, path, pipeline.log_position, read)
    if settled.why_abandoned is not None:
        pipeline.feed(Ended(clock.boottime_ns(), reason=settled.why_abandoned, is_abandoned=True))
        watch.feeders = []
        return watch
    watch.feed(begun)
    if settled.process is not None:
        guide.adopt(settled.process)
    else:
        # A log that comes into being has a writer, and what it says is judged by that process.
        watch.intake.gate = guide.await_writer
    watch.feeders.append(guide.attend)
    return watch


@dataclass(frozen=True, slots=True)
class _Settled:
    """Who writes the log; neither when that cannot be said."""

    process: ProcessFacts | None = None
    why_abandoned: str | None = None


class _Guide:
    """Finds the process and watches its tree and its end; `past` is the log before the watch."""

    def __init__(
        self,
        watch: Watch,
        catalogue: Catalogue,
        begun: Begun,
        engine: str | None,
        past: FileFacts | None,
    ) -> None:
        self._watch = watch
        self._catalogue = catalogue
        self._begun = begun
        self._engine = engine
        self._past = past
        self._process: ProcessFacts | None = None

    def adopt(self, process: ProcessFacts) -> None:
        """`process` is the server: read its command, ask it whether it is ready."""
        self._process = process
        spec = read_command(process.argv, {}, self._catalogue)
        if self._engine is not None:
            spec = replace(spec, engine=self._engine)
        identity = (process.pid, process.start_ticks)
        begun = replace(self._begun, spec=spec, pid=identity[0], start_ticks=identity[1])
        self._watch.feed(replace(begun, starts_anew=self._is_of_later_start(process)))
        profile = self._catalogue.profile(spec.engine)
        target = make_target(self._watch.agent, spec, profile, process=identity)

        async def find_own(agent: Agent) -> frozenset[int]:
            return await find_writers(agent, self._watch.log)

        self._watch.ask_through(target, identity, find_own)

    def _is_of_later_start(self, process: ProcessFacts) -> bool:
        """Whether all that was read so far had been written before `process` began."""
        past, clock = self._past, self._watch.clock
        if past is None or self._watch.pipeline.log_position != (0, past.size):
            return False
        age_s = clock.boottime_ns() / _NS - process.start_ticks / TICKS_PER_S
        begun_ns = clock.wall_ns() - round((age_s + START_MARGIN_S) * _NS)
        return begun_ns > past.modified_wall_ns

    async def settle(
        self, agent: Agent, facts: FileFacts | None, pid: int | None = None
    ) -> _Settled:
        """Find out who writes the log, before any of it is believed.

        A log that nobody holds is given a moment, in which a writer may appear or its size change.
        """
        if facts is None and pid is None:
            return _Settled()
        begun_ns = self._watch.clock.boottime_ns()
        while True:
            found = await find_writer(agent, self._watch.log, pid)
            if found.process is not None or not found.is_certain or facts is None:
                return _Settled(found.process)
            waited_s = (self._watch.clock.boottime_ns() - begun_ns) / _NS
            silent_s = self._silent_s(facts)
            if silent_s > STALE_S or waited_s >= GRACE_S:
                return _Settled(why_abandoned=_tell_abandoned(silent_s))
            await asyncio.sleep(GRACE_PAUSE_S)
            now = await stat_file(agent, self._watch.log)
            if now is None or (now.ino, now.size) != (facts.ino, facts.size):
                return _Settled((await find_writer(agent, self._watch.log)).process)

    async def await_writer(self, agent: Agent) -> None:
        """Settle who writes a log that came into being; an abandoned one is read to its end."""
        if self._process is not None:
            return
        settled = await self.settle(agent, await stat_file(agent, self._watch.log))
        if settled.process is not None:
            self.adopt(settled.process)
        elif settled.why_abandoned is not None:
            now_ns = self._watch.clock.boottime_ns()
            generation, _ = self._watch.pipeline.log_position
            self._watch.may_look.clear()
            try:
                await _read_log(agent, self._watch.log, None, self._watch.feed, now_ns, generation)
                self._watch.feed(Ended(now_ns, reason=settled.why_abandoned, is_abandoned=True))
            finally:
                self._watch.may_look.set()

    def _silent_s(self, facts: FileFacts) -> float:
        return (self._watch.clock.wall_ns() - facts.modified_wall_ns) / _NS

    async def attend(self, agent: Agent) -> None:
        """Search until the process is found, then follow it to its end."""
        was_known = self._process is not None
        while self._process is None:
            await asyncio.sleep(SEARCH_PAUSE_S)
            facts = await stat_file(agent, self._watch.log)
            found = await find_writer(agent, self._watch.log)
            if found.process is not None and self._process is None:
                self.adopt(found.process)
            if facts is None or not found.is_certain or self._process is not None:
                continue
            if (silent_s := self._silent_s(facts)) > STALE_S:
                await self._watch.intake.catch_up(agent)
                why, now_ns = _tell_abandoned(silent_s), self._watch.clock.boottime_ns()
                self._watch.feed(Ended(now_ns, reason=why, is_abandoned=True))
                return
        process = self._process
        async with asyncio.TaskGroup() as group:
            if not was_known and self._watch.prober is not None:
                group.create_task(self._watch.prober.run())
            samples = group.create_task(self._take_samples(agent, process))
            group.create_task(foresee(self._watch, agent, process))
            at_ns = await self._wait_end(agent, process)
            samples.cancel()
            await self._watch.intake.catch_up(agent)
            wall_ns = self._watch.clock.wall_ns()
            if self._watch.prober is not None:
                self._watch.prober.is_done = True
            self._watch.feed(Exited(at_ns, wall_ns, process.pid))

    async def _take_samples(self, agent: Agent, process: ProcessFacts) -> None:
        identity = (process.pid, process.start_ticks)
        await feed_samples(agent, self._watch.feed, identity, self._watch.log)

    async def _wait_end(self, agent: Agent, process: ProcessFacts) -> int:
        while True:
            try:
                return await wait_gone(
                    agent, process.pid, process.start_ticks, timeout_s=GONE_WAIT_S
                )
            except OperationError as error:
                if error.code != "timeout":
                    return self._watch.clock.boottime_ns()


def _tell_abandoned(silent_s: float) -> str:
    """Why nothing more will come into a log."""
    ago = f"{silent_s:.0f} seconds"
    if silent_s > STALE_S:
        minutes = silent_s / 60
        ago = f"{minutes:.0f} minutes" if minutes < 120 else f"{minutes / 60:.0f} hours"
        return f"stale log: no process has it open, last written {ago} ago"
    return f"abandoned log: no process has it open, last written {ago} ago"


async def _read_log(
    agent: Agent,
    path: str,
    size: int | None,
    feed: Callable[[Event], object],
    at_ns: int = 0,
    generation: int = 0,
) -> LastBytes:
    """Feed the first `size` bytes, or all that there is, piece by piece: a log may be large."""
    read = LastBytes()
    stream = open_file(agent, path, length=size)
    try:
        async for piece in stream:
            if isinstance(piece, Data):
                feed(LogData(at_ns, generation, piece.offset, piece.data))
                read.take(generation, piece.offset, piece.data)
    finally:
        stream.close()
    return read
