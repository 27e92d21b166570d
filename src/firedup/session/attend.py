"""The watch over a log whose server firedup did not launch."""

from __future__ import annotations

import asyncio
import posixpath
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime

from firedup.core.error import UsageError
from firedup.core.event import Begun, Ended, Exited, LogData
from firedup.core.model import ServerSpec, Snapshot
from firedup.core.rule import Matcher
from firedup.host.base import OperationError
from firedup.host.file import FileFacts, open_file, stat_file
from firedup.host.frame import Data
from firedup.host.link import Agent
from firedup.host.process import ProcessFacts, wait_gone, watch_tree
from firedup.probe.target import make_target
from firedup.profile.command import read_command
from firedup.profile.pipeline import Pipeline
from firedup.profile.schema import Catalogue
from firedup.session.clock import HostClock
from firedup.session.find import Found, find_writer
from firedup.session.history import position_after
from firedup.session.watch import Watch, Watching

_NS = 1_000_000_000
# A log that nobody writes and that was last written longer ago than this tells of the past.
STALE_S = 60.0
SEARCH_PAUSE_S = 2.0
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
    base = str(agent.hello["cwd"] if not agent.host.prefix else agent.hello["home"])
    path = posixpath.normpath(posixpath.join(base, log))
    facts = await stat_file(agent, path)
    if facts is not None and facts.kind == "folder":
        raise UsageError(f"{path} is a directory, not a log", todo="Name the log file in it.")
    found = await find_writer(agent, path, pid) if facts or pid else Found(None, is_certain=True)
    clock = await HostClock.read(agent)
    pipeline = Pipeline(
        matcher,
        year=datetime.fromtimestamp(clock.wall_ns() / _NS, UTC).year,
        engine=engine,
        tail_lines=watching.tail_lines,
        highlight=watching.highlight,
    )
    watch = Watch(agent, pipeline, clock, watching, log=path)
    if facts is not None:
        await _read_past(agent, path, facts.size, pipeline)
        watch.position = await position_after(agent, path, *pipeline.log_position)
    begun = Begun(clock.boottime_ns(), clock.wall_ns(), ServerSpec(engine=engine), log=path)
    if (reason := _why_stale(facts, found, clock)) is not None:
        pipeline.feed(Ended(clock.boottime_ns(), reason=reason))
        yield watch.look()
        return
    watch.feed(begun)
    guide = _Guide(watch, catalogue, begun, engine)
    if found.process is not None:
        guide.adopt(found.process)
    else:
        # A log that comes into being has a writer, and what it says is judged by that process.
        watch.gate = guide.search
    watch.feeders.append(guide.attend)
    async for snapshot in watch.snapshots():
        yield snapshot


class _Guide:
    """Finds the process and watches its tree and its end."""

    def __init__(
        self, watch: Watch, catalogue: Catalogue, begun: Begun, engine: str | None
    ) -> None:
        self._watch = watch
        self._catalogue = catalogue
        self._begun = begun
        self._engine = engine
        self._process: ProcessFacts | None = None

    def adopt(self, process: ProcessFacts) -> None:
        """`process` is the server: read its command, ask it whether it is ready."""
        self._process = process
        spec = read_command(process.argv, {}, self._catalogue)
        if self._engine is not None:
            spec = replace(spec, engine=self._engine)
        identity = (process.pid, process.start_ticks)
        self._watch.feed(replace(self._begun, spec=spec, pid=identity[0], start_ticks=identity[1]))
        profile = self._catalogue.profile(spec.engine)
        target = make_target(self._watch.agent, spec, profile, process=identity)
        self._watch.ask_through(target, identity)

    async def search(self, agent: Agent) -> Found:
        """Look once for the process that writes the log."""
        try:
            found = await find_writer(agent, self._watch.log)
        except OperationError as error:
            if error.code != "not-found":
                raise
            found = Found(None, is_certain=False)  # the log is gone again
        if found.process is not None and self._process is None:
            self.adopt(found.process)
        return found

    async def attend(self, agent: Agent) -> None:
        """Search until the process is found, then follow it to its end."""
        was_known = self._process is not None
        while self._process is None:
            await asyncio.sleep(SEARCH_PAUSE_S)
            facts = await stat_file(agent, self._watch.log)
            found = await self.search(agent)
            if (reason := _why_stale(facts, found, self._watch.clock)) is not None:
                await self._watch.catch_up(agent)
                self._watch.feed(Ended(self._watch.clock.boottime_ns(), reason=reason))
                return
        process = self._process
        async with asyncio.TaskGroup() as group:
            if not was_known and self._watch.prober is not None:
                group.create_task(self._watch.prober.run())
            samples = group.create_task(self._take_samples(agent, process))
            at_ns = await self._wait_end(agent, process)
            samples.cancel()
            await self._watch.catch_up(agent)
            wall_ns = self._watch.clock.wall_ns()
            if self._watch.prober is not None:
                self._watch.prober.is_done = True
            self._watch.feed(Exited(at_ns, wall_ns, process.pid))

    async def _take_samples(self, agent: Agent, process: ProcessFacts) -> None:
        tree = watch_tree(agent, process.pid, process.start_ticks, log=self._watch.log)
        async for sample in tree:
            self._watch.feed(sample)

    async def _wait_end(self, agent: Agent, process: ProcessFacts) -> int:
        while True:
            try:
                return await wait_gone(
                    agent, process.pid, process.start_ticks, timeout_s=GONE_WAIT_S
                )
            except OperationError as error:
                if error.code != "timeout":
                    return self._watch.clock.boottime_ns()


def _why_stale(facts: FileFacts | None, found: Found, clock: HostClock) -> str | None:
    """Why nothing more will come into a log that exists; None while something may."""
    if facts is None or found.process is not None or not found.is_certain:
        return None
    silent_s = (clock.wall_ns() - facts.modified_wall_ns) / _NS
    if silent_s <= STALE_S:
        return None
    minutes = silent_s / 60
    ago = f"{minutes:.0f} minutes" if minutes < 120 else f"{minutes / 60:.0f} hours"
    return f"stale log: no process has it open, last written {ago} ago"


async def _read_past(agent: Agent, path: str, size: int, pipeline: Pipeline) -> None:
    """What was written before the watch began has only the log's own clock."""
    stream = open_file(agent, path, length=size)
    try:
        async for piece in stream:
            if isinstance(piece, Data):
                pipeline.feed(LogData(0, 0, piece.offset, piece.data))
    finally:
        stream.close()
