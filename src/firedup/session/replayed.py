"""What a run's folder holds, fed to a pipeline: the state of a run that nobody watches."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from firedup.core.event import Begun, Ended, Exited
from firedup.core.model import Snapshot
from firedup.core.rule import Matcher
from firedup.core.verdict.ending import RESTARTED
from firedup.host.link import Agent
from firedup.profile.pipeline import Pipeline
from firedup.session.clock import HostClock
from firedup.session.history import load_history, replay_history
from firedup.session.registry import Run
from firedup.session.trail import Volume

_NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Replayed:
    """How a run is. `log_size` is the offset after the last byte of its last generation.

    `volumes` are the generations of its log; `pid` is the server, if one was seen.
    """

    snapshot: Snapshot
    volumes: tuple[Volume, ...]
    log_size: int
    pid: int | None


async def replay_run(
    agent: Agent,
    run: Run,
    matcher: Matcher,
    clock: HostClock,
    *,
    engine: str | None = None,
    is_over: bool = False,
) -> Replayed:
    """Judge `run` by its log, samples and exit status, as they are now.

    With `is_over` a last line without an end is read, too; so it is where the server has ended.
    Lines have numbers where the run's log began with the run. Raises HostError when the link is
    lost.
    """
    state, launched = run.state, run.manifest.launched
    begun_ns = at_ns = launched.boottime_ns if launched else 0
    wall_ns = launched.wall_ns if launched else clock.wall_ns()
    pipeline = Pipeline(
        matcher,
        year=datetime.fromtimestamp(wall_ns / _NS, UTC).year,
        engine=engine or run.spec.engine,
        run=run.label,
        counts_lines=state.log_start == 0,
        log_start=(state.log_start, 0),
    )
    pid = state.server.pid if state.server else None
    limits = tuple(run.manifest.stage_limits.items())
    begun = Begun(at_ns, wall_ns, run.spec, pid, is_launched=True, log=run.log, stage_limits=limits)
    pipeline.feed(begun)
    history = await load_history(agent, run.folder, run.log, state.log_start, pid=pid)
    async for event in replay_history(agent, run.log, history):
        at_ns = event.at_ns
        pipeline.feed(event)
    if state.exit is not None:
        at_ns = state.exit.event.at_ns
        pipeline.feed(state.exit.event)
    elif pid is not None and not run.is_alive and not state.is_keeper_alive:
        has_restarted = run.manifest.boot_id not in (None, agent.hello["boot_id"])
        at_ns = at_ns if has_restarted else clock.boottime_ns()  # boottime began anew
        why = RESTARTED if has_restarted else None
        pipeline.feed(Exited(at_ns, clock.wall_ns(), pid, error=why))
    if is_over or not run.is_alive:
        pipeline.feed(Ended(at_ns))
    snapshot = pipeline.snapshot(at_ns, wall_ns + (at_ns - begun_ns))
    return Replayed(snapshot, history.volumes, pipeline.log_position[1], pid)
