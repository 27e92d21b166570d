"""Lets the watch over a server that somebody else started say how long its start still takes."""

from __future__ import annotations

from firedup.host.link import Agent
from firedup.host.process import TICKS_PER_S, ProcessFacts
from firedup.session.forecaster import make_forecaster_of
from firedup.session.watch import Watch

_NS = 1_000_000_000


async def foresee(watch: Watch, agent: Agent, process: ProcessFacts) -> None:
    """Once it is known which process the server is; a start that is over is not forecast."""
    if watch.forecaster is not None or watch.pipeline.is_log_ready:
        return
    now = watch.look()
    began_s = process.start_ticks / TICKS_PER_S  # of the host's boottime, as all of its times
    age_s = max(0.0, now.now_ns / _NS - now.elapsed_s - began_s)
    known = await make_forecaster_of(agent, now.spec, process.cwd, age_s)
    watch.forecaster = known if agent.is_alive else None
