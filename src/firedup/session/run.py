"""Runs by their names, and the watch over a run that firedup launched."""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import AsyncIterator
from contextlib import aclosing, closing
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from firedup.core.error import UsageError
from firedup.core.event import Begun, KeeperGone
from firedup.core.model import RunLabel, ServerSpec, Snapshot
from firedup.core.rule import Matcher
from firedup.host.file import open_file
from firedup.host.frame import Data
from firedup.host.link import Agent
from firedup.host.manifest import Manifest
from firedup.host.run import RunState, follow_samples
from firedup.host.run import list_runs as list_states
from firedup.host.run import watch_run as watch_end
from firedup.probe.target import make_target
from firedup.profile.pipeline import Pipeline
from firedup.profile.schema import Catalogue
from firedup.session.clock import HostClock
from firedup.session.family import find_family
from firedup.session.history import History, load_history, position_after, read_stop, replay_history
from firedup.session.hook import Teller, run_hooks
from firedup.session.recorder import Recorder
from firedup.session.sample import feed_samples
from firedup.session.watch import Watch, Watching


@dataclass(frozen=True, slots=True)
class Run:
    """A run whose manifest could be read, with what its host shows of it now."""

    label: RunLabel
    state: RunState
    manifest: Manifest

    @property
    def folder(self) -> str:
        """Its folder on the host."""
        return self.state.folder

    @property
    def spec(self) -> ServerSpec:
        """What its command says."""
        return self.manifest.spec

    @property
    def log(self) -> str:
        """Its log's path on the host."""
        return self.manifest.log or f"{self.state.folder}/server.log"

    @property
    def is_alive(self) -> bool:
        """Whether its server's process lives."""
        return self.state.is_server_alive


async def list_runs(agent: Agent) -> tuple[Run, ...]:
    """All runs with a readable manifest on the agent's host, newest first."""
    states = await list_states(agent)
    found = [
        Run(RunLabel(s.id, s.manifest.name, agent.host.name), s, s.manifest)
        for s in states
        if s.manifest is not None
    ]
    return tuple(reversed(found))


async def find_run(agent: Agent, text: str) -> Run:
    """The run that `text` names: an id, the beginning of one, a name (the newest), or name~N."""
    runs = await list_runs(agent)
    name, _, back = text.partition("~")
    named = [run for run in runs if run.label.name == name]
    if back.isdigit() and int(back) < len(named):
        return named[int(back)]
    if named and not back:
        return named[0]
    by_id = [run for run in runs if run.label.id == text]
    by_id = by_id or [run for run in runs if run.label.id.startswith(text)]
    if len(by_id) == 1:
        return by_id[0]
    raise _unknown(text, runs, by_id, named)


def _unknown(text: str, runs: tuple[Run, ...], by_id: list[Run], named: list[Run]) -> UsageError:
    if len(by_id) > 1:
        ids = ", ".join(run.label.id for run in by_id[:5])
        return UsageError(f"{text} could be any of {len(by_id)} runs", evidence=ids)
    if named:
        return UsageError(f"there are only {len(named)} runs with that name, so no {text}")
    names = sorted({run.label.name for run in runs} | {run.label.id for run in runs})
    close = difflib.get_close_matches(text, names, 1)
    todo = f"Did you mean {close[0]}?" if close else "firedup ps --all lists all runs."
    return UsageError(f"there is no run {text}", todo=todo if runs else "Nothing was launched yet.")


async def watch_run(
    agent: Agent, catalogue: Catalogue, matcher: Matcher, run: Run, watching: Watching
) -> AsyncIterator[Snapshot]:
    """Watch `run` from its beginning (what is recorded is replayed) to a conclusion."""
    watch = await _prepare(agent, catalogue, matcher, run, watching)
    async with aclosing(watch.snapshots()) as snapshots:
        async for snapshot in snapshots:
            yield snapshot


async def _prepare(
    agent: Agent, catalogue: Catalogue, matcher: Matcher, run: Run, watching: Watching
) -> Watch:
    state, manifest = run.state, run.manifest
    clock = await HostClock.read(agent)
    pipeline = Pipeline(
        matcher,
        year=datetime.fromtimestamp(clock.wall_ns() / 1e9, UTC).year,
        engine=run.spec.engine,
        run=run.label,
        tail_lines=watching.tail_lines,
        highlight=watching.highlight,
        log_start=await _log_start(agent, run),
    )
    launched = manifest.launched
    begun = Begun(
        at_ns=launched.boottime_ns if launched else clock.boottime_ns(),
        wall_ns=launched.wall_ns if launched else clock.wall_ns(),
        spec=run.spec,
        pid=state.server.pid if state.server else None,
        start_ticks=state.server.start_ticks if state.server else None,
        is_launched=True,
        log=run.log,
    )
    recorder = Recorder(agent, f"{run.folder}/events.jsonl")
    watch = Watch(agent, pipeline, clock, watching, log=run.log, recorder=recorder)
    history = await load_history(agent, run.folder, run.log, state.log_start)
    pipeline.feed(begun)
    _record_past(recorder, begun, history)
    async for event in replay_history(agent, run.log, history):
        pipeline.feed(event)
    if manifest.hooks:
        watch.teller = Teller(partial(run_hooks, run.label.id))
    if state.exit is not None:
        # All is known, and what follows in the log is a later run's.
        pipeline.feed(state.exit.event)
        if not history.has_ended:
            recorder.add(state.exit.event)
        watch.feeders = []
        return watch
    generation, offset = pipeline.log_position
    watch.position = await position_after(agent, run.log, generation, offset)
    _add_feeders(watch, catalogue, run, history.last_sample_ns)
    return watch


def _record_past(recorder: Recorder, begun: Begun, history: History) -> None:
    """Record what nobody did: no client was there, or it was killed before it could."""
    if history.is_torn:
        recorder.end_torn_line()
    if not history.has_begun:
        recorder.add(begun)
    for change in history.changes:
        recorder.add(change)
    for part in history.unrecorded:
        recorder.add(part)


async def _log_start(agent: Agent, run: Run) -> tuple[int, int]:
    """Where the run begins in a log that existed before, and how many lines came before it."""
    start, lines = run.state.log_start, 0
    if start:
        stream = open_file(agent, run.log, length=start)
        with closing(stream):
            async for piece in stream:
                lines += piece.data.count(b"\n") if isinstance(piece, Data) else 0
    return start, lines


def _add_feeders(watch: Watch, catalogue: Catalogue, run: Run, since_ns: int) -> None:
    server = (run.state.server.pid, run.state.server.start_ticks) if run.state.server else None

    async def take_samples(agent: Agent) -> None:
        nonlocal since_ns
        async for sample in follow_samples(agent, run.folder, since_ns=since_ns):
            since_ns = sample.at_ns
            watch.feed(sample)

    async def take_end(agent: Agent) -> None:
        async with asyncio.TaskGroup() as group:
            samples: asyncio.Task[None] | None = None
            async for end in watch_end(agent, run.label.id):
                if isinstance(end, KeeperGone):
                    watch.feed(end)
                    if server is not None:
                        samples = group.create_task(
                            feed_samples(agent, watch.feed, server, run.log)
                        )
                    continue
                await watch.catch_up(agent)
                if (stop := await read_stop(agent, run.folder)) is not None:
                    watch.feed(stop)
                watch.feed(end.event)
            if samples is not None:
                samples.cancel()

    watch.feeders += [take_samples, take_end]
    profile = catalogue.profile(run.spec.engine)
    target = make_target(watch.agent, run.spec, profile, run_folder=run.folder)

    async def find_own(agent: Agent) -> frozenset[int]:
        return frozenset(process.pid for process in await find_family(agent, run.state))

    watch.ask_through(target, server, find_own)
