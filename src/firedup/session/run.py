"""The watch over a run that firedup launched."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from functools import partial

from firedup.core.event import Begun, Event, KeeperGone, LogChanged, LogData, Noted
from firedup.core.model import Snapshot
from firedup.core.rule import Matcher
from firedup.host.link import Agent
from firedup.host.logfile import find_log_files
from firedup.host.run import follow_samples
from firedup.host.run import watch_run as watch_end
from firedup.probe.target import make_target
from firedup.profile.schema import Catalogue
from firedup.session.clock import HostClock
from firedup.session.container import look_beyond, take_spec
from firedup.session.family import find_family
from firedup.session.forecaster import make_forecaster
from firedup.session.history import (
    History,
    LastBytes,
    load_history,
    position_after,
    read_stop,
    read_volume,
    replay_history,
)
from firedup.session.hook import Teller, attend_run, run_hooks
from firedup.session.hookfailure import fetch_hook_failures
from firedup.session.precedent import FAILED, find_precedent, launch_of
from firedup.session.prepared import watch_prepared
from firedup.session.recorder import Recorder
from firedup.session.registry import Run
from firedup.session.sample import feed_samples
from firedup.session.stacks import Place
from firedup.session.watch import Watch, Watching
from firedup.session.watching import make_pipeline


async def watch_run(
    agent: Agent, catalogue: Catalogue, matcher: Matcher, run: Run, watching: Watching
) -> AsyncIterator[Snapshot]:
    """Watch `run` from its beginning (what is recorded is replayed) to a conclusion."""

    async def prepare(agent: Agent) -> Watch:
        return await _prepare(agent, catalogue, matcher, run, watching)

    async with aclosing(watch_prepared(agent, prepare, watching)) as snapshots:
        async for snapshot in snapshots:
            yield snapshot


async def _prepare(
    agent: Agent, catalogue: Catalogue, matcher: Matcher, run: Run, watching: Watching
) -> Watch:
    state, manifest = run.state, run.manifest
    clock = await HostClock.read(agent)
    history = await load_history(
        agent,
        run.folder,
        run.log,
        state.log_start,
        pid=state.server.pid if state.server else None,
    )
    pipeline = make_pipeline(
        matcher,
        clock.wall_ns(),
        watching,
        engine=run.spec.engine,
        run=run.label,
        log_start=await _log_start(agent, run, history),
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
        stage_limits=tuple({**manifest.stage_limits, **dict(watching.stage_limits)}.items()),
    )
    recorder = Recorder(agent, f"{run.folder}/events.jsonl")
    watch = Watch(agent, pipeline, clock, watching, log=run.log, recorder=recorder)
    watch.contact.run_folder, watch.contact.server_pid = run.folder, begun.pid
    watch.launch = launch_of(manifest)
    watch.stalls.place = Place(run.folder, manifest.arms_stacks, watching.conceal)
    pipeline.feed(begun)
    for note in manifest.notes:
        pipeline.feed(Noted(begun.at_ns, note))
    for failure in await fetch_hook_failures(agent, run):
        pipeline.feed(_note_hook(begun.at_ns, failure, run))
    _record_past(recorder, begun, history)
    read = LastBytes()
    async for event in replay_history(agent, run.log, history):
        pipeline.feed(event)
        if isinstance(event, LogData):
            read.take(event.generation, event.offset, event.data)
    if manifest.hooks or manifest.notify:
        watch.teller = Teller(partial(run_hooks, run.label.id, watching.clean))
    end: Event | None = state.exit.event if state.exit is not None else None
    if manifest.boot_id not in (None, agent.hello["boot_id"]):
        # It ended with the host's last boot at the latest, whose time is not that of now.
        last_ns = end.at_ns if end is not None else history.last_sample_ns
        watch.contact.stand_still(max(begun.at_ns, last_ns))
        end = end or watch.contact.tell_restart()
    if end is not None:
        # All is known, and what follows in the log is a later run's.
        pipeline.feed(end)
        if not history.has_ended:
            recorder.add(end)
        if watch.look().explanation.verdict in FAILED:
            watch.precedent = await find_precedent(agent, run)
        watch.feeders = []
        return watch
    place = pipeline.log_position
    file = history.volumes[place[0]].file
    watch.intake.position = await position_after(
        agent, run.log, place, read, file=file, pid=history.pid
    )
    watch.intake.recall = partial(_recall_rotations, watch, run)
    _add_feeders(watch, catalogue, run, begun, history.last_sample_ns)
    return watch


def _note_hook(at_ns: int, failure: str, run: Run) -> Noted:
    return Noted(at_ns, f"a hook failed: {failure}; what it printed is in {run.folder}/hooks.log")


async def _recall_rotations(watch: Watch, run: Run, agent: Agent) -> bool:
    """Feed what the log was before the file that it is now; whether it was anything."""
    pid = run.state.server.pid if run.state.server else None
    beside = await find_log_files(agent, run.log, pid=pid)
    if not any(file.continues(run.log) and file.size for file in beside.files):
        return False
    history = await load_history(agent, run.folder, run.log, run.state.log_start, pid=pid)
    if len(history.volumes) == 1:
        return False
    read = LastBytes()
    async for event in replay_history(agent, run.log, history):
        if isinstance(event, LogData | LogChanged):
            watch.feed(event)
        if isinstance(event, LogData):
            read.take(event.generation, event.offset, event.data)
    place = watch.pipeline.log_position
    file = history.volumes[place[0]].file
    watch.intake.position = await position_after(agent, run.log, place, read, file=file, pid=pid)
    return True


def _record_past(recorder: Recorder, begun: Begun, history: History) -> None:
    """Record what nobody did: no client was there, or it was killed before it could."""
    if history.is_torn:
        recorder.end_torn_line()
    if not history.has_begun:
        recorder.add(begun)
    for part in history.unrecorded:
        recorder.add(part)


async def _log_start(agent: Agent, run: Run, history: History) -> tuple[int, int]:
    """Where the run begins in a log that existed before, and how many lines came before it."""
    start, lines = run.state.log_start, 0
    first = history.volumes[0]
    async for piece in read_volume(agent, run.log, first, 0, start, pid=history.pid):
        lines += piece.data.count(b"\n")
    return start, lines


def _add_feeders(watch: Watch, catalogue: Catalogue, run: Run, begun: Begun, since_ns: int) -> None:
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
                await watch.intake.catch_up(agent)
                if (stop := await read_stop(agent, run.folder)) is not None:
                    watch.feed(stop)
                for failure in await fetch_hook_failures(agent, run):
                    watch.pipeline.feed(_note_hook(begun.at_ns, failure, run))
                await has_looked_back.wait()  # what is told of the end tells of that, too
                watch.feed(end.event)
            if samples is not None:
                samples.cancel()

    has_looked_back = asyncio.Event()

    async def look_back(agent: Agent) -> None:
        watch.precedent = watch.precedent or await find_precedent(agent, run)
        has_looked_back.set()

    watch.feeders += [take_samples, take_end, look_back, partial(_foresee, watch, run)]
    if watch.teller is not None:
        watch.feeders.append(partial(attend_run, run.label.id))
    _ask(watch, catalogue, run, begun, server)


async def _foresee(watch: Watch, run: Run, agent: Agent) -> None:
    """Let the watch say how long the start still takes, once earlier ones have been read."""
    if watch.forecaster is None and not watch.pipeline.is_log_ready:
        known = await make_forecaster(agent, run)
        watch.forecaster = known if agent.is_alive else None


def _ask(
    watch: Watch, catalogue: Catalogue, run: Run, begun: Begun, server: tuple[int, int] | None
) -> None:
    """Let the server be asked whether it is ready, wherever its port is."""
    profile = catalogue.profile(run.spec.engine)
    target = make_target(watch.agent, run.spec, profile, run_folder=run.folder)

    async def find_own(agent: Agent) -> frozenset[int]:
        return frozenset(process.pid for process in await find_family(agent, run.state))

    container = run.manifest.container
    if container is None or container.is_on_host:
        watch.ask_through(target, server, find_own)
    elif container.verb == "run":
        # A proxy has the port, so that no process of the server is to be looked for there.
        watch.ask_through(target, None, find_own).look = look_beyond(watch, run.spec)
    else:
        watch.feeders.append(lambda agent: take_spec(agent, watch, catalogue, run, begun))
