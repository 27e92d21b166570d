"""The post-mortem of a run: its log, with what its folder knows of the process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from firedup.core.log.context import holds_line
from firedup.core.model import Explanation
from firedup.core.rule import Matcher
from firedup.host.link import Agent
from firedup.session.clock import HostClock
from firedup.session.explain import LOOK, Looking, look_again, wanted_spans
from firedup.session.history import read_volume
from firedup.session.registry import Run
from firedup.session.replayed import Replayed, replay_run
from firedup.session.trail import Volume


async def explain_run(
    agent: Agent,
    run: Run,
    *,
    matcher: Matcher,
    engine: str | None = None,
    looking: Looking = LOOK,
) -> Explanation:
    """Explain `run` by its log, samples and exit status, as they are now.

    Lines around the cause and at the end are read from whatever the log's generations are called
    by now. Lines have numbers where the run's log began with the run. Raises HostError when the
    link is lost.
    """
    clock = await HostClock.read(agent)
    found = await replay_run(agent, run, matcher, clock, engine=engine, is_over=True)
    explanation = await _with_context(agent, run, found, replace(looking, tail=0))
    return await _with_tail(agent, run, found, replace(looking, context=0), explanation)


async def _with_context(agent: Agent, run: Run, found: Replayed, looking: Looking) -> Explanation:
    """The lines around the cause, from the newest generation that has it where it stood."""
    explanation = found.snapshot.explanation
    cause = explanation.cause
    for start, length in wanted_spans(explanation, found.log_size, looking):
        for volume in reversed(found.volumes):
            data = await _read(agent, run, found, volume, start, length)
            at = cause.offset if cause else None
            if cause and at is not None and holds_line(data, at - start, cause.line):
                return look_again(explanation, found.log_size, _given(data), looking)
    return explanation


async def _with_tail(
    agent: Agent, run: Run, found: Replayed, looking: Looking, explanation: Explanation
) -> Explanation:
    """The last lines; where the newest generation has too few, those before it have the rest."""
    tail: tuple[str, ...] = ()
    size = found.log_size
    for number in reversed(range(len(found.volumes))):
        left = replace(looking, tail=looking.tail - len(tail))
        for start, length in wanted_spans(explanation, size, left):
            data = await _read(agent, run, found, found.volumes[number], start, length)
            tail = (*look_again(explanation, size, _given(data), left).tail, *tail)
        size = found.volumes[number - 1].end
    return replace(explanation, tail=tail)


def _given(data: bytes) -> Callable[[int, int], bytes]:
    """A read of the only piece that there is."""
    return lambda _offset, _length: data


async def _read(
    agent: Agent, run: Run, found: Replayed, volume: Volume, start: int, length: int
) -> bytes:
    stop = min(start + length, volume.end)
    pieces = read_volume(agent, run.log, volume, start, stop, pid=found.pid)
    return b"".join([piece.data async for piece in pieces])
