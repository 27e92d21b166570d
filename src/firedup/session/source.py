"""The watch over a server whose log a container engine, a cluster or systemd keeps."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace

from firedup.core.event import Begun, Exited, Noted
from firedup.core.model import ServerSpec, Snapshot
from firedup.core.rule import Matcher
from firedup.host.containerlog import ContainerLog
from firedup.host.link import Agent
from firedup.host.podlog import PodLog
from firedup.host.process import ProcessFacts
from firedup.host.source import Source, wait_status
from firedup.host.standing import Standing, split_status
from firedup.profile.command import complete_command, read_command
from firedup.profile.schema import Catalogue
from firedup.session.clock import HostClock
from firedup.session.find import find_told
from firedup.session.foresee import foresee
from firedup.session.look import LOOK_S, look_patiently, recall_memory
from firedup.session.prepared import watch_prepared
from firedup.session.reach import INSIDE, ask_through, reach
from firedup.session.sample import feed_samples
from firedup.session.spout import DRAIN_S, Spout
from firedup.session.watch import Watch, Watching
from firedup.session.watching import make_pipeline

WAIT_PAUSE_S = 1.0
APPROXIMATE = (
    "the log comes from a program that keeps it ({0}): what the server prints without a line "
    "break is seen late, and after a broken link lines are known again by their times"
)

UNKNOWN_REASON = (
    "the container was removed at its end, and {0} remembers nothing of it: whether it lacked "
    "memory cannot be known"
)


async def watch_source(
    agent: Agent,
    catalogue: Catalogue,
    matcher: Matcher,
    source: Source,
    watching: Watching,
    *,
    engine: str | None = None,
) -> AsyncIterator[Snapshot]:
    """Watch the server whose log `source` tells, to a conclusion.

    UsageError when there is no such server. One that has ended is explained at once.
    """

    async def prepare(agent: Agent) -> Watch:
        standing = await source.look(agent)
        clock = await HostClock.read(agent)
        pipeline = make_pipeline(matcher, clock.wall_ns(), watching, engine=engine)
        watch = Watch(agent, pipeline, clock, watching, log=source.word)
        tap = _Tap(watch, catalogue, source, engine)
        watch.feed(Noted(clock.boottime_ns(), APPROXIMATE.format(source.word.partition(":")[0])))
        watch.feeders = [tap.attend]
        if not standing.is_waiting:
            # Nothing that the log says is believed before it is known how its server stands.
            await tap.spout.read_once(agent, standing)
            await tap.take_up(agent, standing)
            if not standing.is_running:
                watch.feeders = []
        return watch

    async with aclosing(watch_prepared(agent, prepare, watching)) as snapshots:
        async for snapshot in snapshots:
            yield snapshot


class _Tap:
    """Watches the server's process tree and its end beside its log, over any number of links."""

    def __init__(
        self, watch: Watch, catalogue: Catalogue, source: Source, engine: str | None
    ) -> None:
        self._watch = watch
        self._catalogue = catalogue
        self._source = source
        self._engine = engine
        self.spout = Spout(watch, source)
        self._start: str | None = None
        self._pid = INSIDE
        self._has_ended = False

    async def take_up(self, agent: Agent, standing: Standing) -> ProcessFacts | None:
        """Take the start that goes on, or how the last one ended; its process where it is seen."""
        process = None
        if standing.is_running and standing.pid is not None:
            begun_ns = standing.started_wall_ns and self.spout.boottime_of(standing.started_wall_ns)
            process = await find_told(agent, standing.pid, begun_ns)
        if standing.start != self._start:
            self._adopt(standing, process)
            if not standing.is_running:
                self._feed_end(standing)
        return process

    async def attend(self, agent: Agent) -> None:
        """Follow the server from its start (or from where an earlier link broke) to its end."""
        standing = await self._await_start(agent)
        was_asked = self._watch.prober is not None
        if not standing.is_running and standing.start != self._start:
            await self.spout.read_once(agent, standing)
        process = await self.take_up(agent, standing)
        if not standing.is_running and self._has_ended:
            return
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self.spout.follow(agent, standing))]
            if not was_asked and self._watch.prober is not None:
                group.create_task(self._watch.prober.run())
            if process is not None:
                tasks.append(group.create_task(self._take_samples(agent, process)))
                tasks.append(group.create_task(foresee(self._watch, agent, process)))
            end = await self._await_end(agent, standing)
            await self.spout.drain(agent, standing, tasks[0])
            for task in tasks:
                task.cancel()
            self._feed_end(end)

    async def _await_start(self, agent: Agent) -> Standing:
        """Wait while a pod has no node or no image, a container is created but not started."""
        while True:
            standing = await self._look(agent)
            if not standing.is_waiting or standing.code is not None or standing.signal is not None:
                return standing
            if standing.words:
                self.spout.note(f"{self._source.word} waits: {standing.words}")
            await asyncio.sleep(WAIT_PAUSE_S)

    async def _look(self, agent: Agent) -> Standing:
        return await look_patiently(agent, self._source, self.spout.note)

    def _adopt(self, standing: Standing, process: ProcessFacts | None) -> None:
        """Take the start that goes on now: read its command, ask it whether it is ready."""
        self._start = standing.start
        self._pid = process.pid if process is not None else INSIDE
        argv = process.argv if process is not None and process.argv else standing.argv
        argv = complete_command(argv, standing.image, self._catalogue)
        spec = read_command(argv, {}, self._catalogue) if argv else ServerSpec()
        if self._engine is not None:
            spec = replace(spec, engine=self._engine)
        is_pod = isinstance(self._source, PodLog)  # asked from inside
        spec, note = (spec, None) if is_pod else reach(spec, standing)
        clock = self._watch.clock
        if note is not None:
            self.spout.note(note)
        ticks = process.start_ticks if process is not None else None
        begun = Begun(clock.boottime_ns(), clock.wall_ns(), spec, pid=self._pid, start_ticks=ticks)
        limits = self._watch.watching.stage_limits
        begun = replace(begun, log=self._source.word, stage_limits=limits)
        self._watch.feed(begun)
        pod = self._source.pod if isinstance(self._source, PodLog) else None
        profile = self._catalogue.profile(spec.engine)
        source = self._source
        box = (source.program, source.name) if isinstance(source, ContainerLog) else ()
        ask_through(
            self._watch, begun, profile, process, pod, container=box, is_on_host=standing.is_on_host
        )

    async def _take_samples(self, agent: Agent, process: ProcessFacts) -> None:
        await feed_samples(agent, self._watch.feed, (process.pid, process.start_ticks), "")

    async def _await_end(self, agent: Agent, standing: Standing) -> Standing:
        """How the server stands once this start of it is over."""
        if not standing.is_running:
            return standing
        waiter = asyncio.ensure_future(wait_status(agent, self._source))
        try:
            while True:
                dry = asyncio.ensure_future(self.spout.dry.wait())
                try:
                    await asyncio.wait(
                        [dry, waiter] if not waiter.done() else [dry],
                        timeout=LOOK_S,
                        return_when=asyncio.FIRST_COMPLETED,
                    )
                finally:
                    dry.cancel()
                now = await self._look(agent)
                if now.is_running and now.start == standing.start:
                    self.spout.dry.clear()
                    continue
                if now.start != standing.start:
                    now = replace(now, is_running=False, code=None, signal=None, oom_killed=None)
                if now.code is None and now.signal is None:
                    code, signal = await self._status_of(waiter)
                    now = replace(now, code=code, signal=signal)
                if now.oom_killed is None:
                    now = replace(now, oom_killed=await self._recall(agent, standing))
                return now
        finally:
            waiter.cancel()
            await asyncio.wait([waiter])
            _ = waiter.cancelled() or waiter.exception()  # the link broke, which others tell

    async def _recall(self, agent: Agent, standing: Standing) -> bool | None:
        """Whether a server that was removed with its end lacked memory; a doubt is noted."""
        if not isinstance(self._source, ContainerLog):
            return None
        wall_ns = self._watch.clock.wall_ns()
        reason = await recall_memory(agent, self._source, standing, wall_ns)
        if reason is None:
            self.spout.note(UNKNOWN_REASON.format(self._source.program))
        return reason

    async def _status_of(self, waiter: asyncio.Future[int | None]) -> tuple[int | None, int | None]:
        await asyncio.wait([waiter], timeout=DRAIN_S)
        status = waiter.result() if waiter.done() else None
        return (None, None) if status is None else split_status(status)

    def _feed_end(self, end: Standing) -> None:
        clock = self._watch.clock
        at_ns = self.spout.boottime_of(end.finished_wall_ns)
        wall_ns = end.finished_wall_ns or clock.wall_ns()
        exited = Exited(at_ns, wall_ns, self._pid, end.code, end.signal, end.oom_killed)
        if end.restarts:
            text = f"{self._source.word} was started again {end.restarts} times by its keeper"
            self.spout.note(text)
        self._watch.feed(exited)
        self._has_ended = True
        if self._watch.prober is not None:
            self._watch.prober.is_done = True
