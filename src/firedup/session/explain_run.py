"""The post-mortem of a run: its log, with what its folder knows of the process."""

from __future__ import annotations

from datetime import UTC, datetime

from firedup.core.event import Begun, Ended
from firedup.core.model import Explanation
from firedup.core.rule import Matcher
from firedup.host.file import read_file
from firedup.host.link import Agent
from firedup.profile.pipeline import Pipeline
from firedup.session.explain import LOOK, Looking, look_again, wanted_spans
from firedup.session.history import load_history, replay_history
from firedup.session.registry import Run

_NS = 1_000_000_000


async def explain_run(
    agent: Agent,
    run: Run,
    *,
    matcher: Matcher,
    engine: str | None = None,
    looking: Looking = LOOK,
) -> Explanation:
    """Explain `run` by its log, samples and exit status, as they are now.

    Lines have numbers where the run's log began with the run. Raises HostError when the link is
    lost.
    """
    state, launched = run.state, run.manifest.launched
    at_ns, wall_ns = (launched.boottime_ns, launched.wall_ns) if launched else (0, 0)
    engine = engine or run.spec.engine
    pipeline = Pipeline(
        matcher,
        year=datetime.fromtimestamp(wall_ns / _NS, UTC).year,
        engine=engine,
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
    pipeline.feed(state.exit.event if state.exit is not None else Ended(at_ns))
    explanation = pipeline.snapshot().explanation
    generation, size = pipeline.log_position
    if generation:  # what the offsets are of was moved away
        return explanation
    pieces = {
        (at, length): await read_file(agent, run.log, offset=at, length=length)
        for at, length in wanted_spans(explanation, size, looking)
    }
    return look_again(explanation, size, lambda at, length: pieces[at, length], looking)
