"""What is known of a run without watching it: the state of its process and the last verdict."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from firedup.core.error import HostError
from firedup.core.event import Begun, Exited
from firedup.core.model import Stage, State, Verdict
from firedup.core.rule import Matcher
from firedup.core.verdict.ending import RESTARTED
from firedup.host.file import append_file, read_file, stat_file
from firedup.host.link import Agent
from firedup.profile.pipeline import Pipeline
from firedup.session.clock import HostClock
from firedup.session.history import load_history, replay_history
from firedup.session.hookfailure import fetch_hook_failures
from firedup.session.recorder import has_come_up
from firedup.session.registry import Run
from firedup.store.event import OUTPUT_KINDS, encode_output

_NS = 1_000_000_000
TAIL_BYTES = 64 * 1024
MOST_AT_ONCE = 8  # runs that are asked about at the same time
# What a server that lives may have left behind unseen since a session concluded this: the limit
# of a watch says nothing of the server, and one that stood still may move again.
_UNSETTLED = (
    Verdict.LOADING,
    Verdict.UNKNOWN,
    Verdict.LOST,
    Verdict.TIMED_OUT,
    Verdict.STALLED,
)
# The verdicts of a server that has ended.
_SETTLED_BY_END = (Verdict.CRASHED, Verdict.STOPPED)


@dataclass(frozen=True, slots=True)
class Summary:
    """One run as `firedup ps` shows it; `up_s` is None when its server does not live.

    `ended_ns` is host wall time; `cause` is the failure class; `hook_failures` are sentences.
    """

    state: State
    verdict: Verdict
    stage: Stage | None = None
    cause: str | None = None
    up_s: float | None = None
    ended_ns: int | None = None
    hook_failures: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Output:
    """What a session concluded last, and when by the host's boottime."""

    at_ns: int
    verdict: Verdict
    stage: Stage | None
    cause: str | None


async def summarise_runs(
    agent: Agent, make_matcher: Callable[[str | None], Matcher], runs: Iterable[Run]
) -> tuple[Summary, ...]:
    """A summary of each run. What no session concluded is judged from the run folder.

    `make_matcher` takes an engine and is called for that alone. Several runs are asked about at the
    same time, since a far host takes long for each answer.
    """
    clock = await HostClock.read(agent)
    gate = asyncio.Semaphore(MOST_AT_ONCE)

    async def summarise(run: Run) -> Summary | HostError:
        async with gate:
            try:
                summary = await _summarise(agent, make_matcher, clock, run)
                return replace(summary, hook_failures=await fetch_hook_failures(agent, run))
            except HostError as error:
                return error

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(summarise(run)) for run in runs]
    summaries = []
    for task in tasks:
        if isinstance(found := task.result(), HostError):
            raise found
        summaries.append(found)
    return tuple(summaries)


async def _summarise(
    agent: Agent, make_matcher: Callable[[str | None], Matcher], clock: HostClock, run: Run
) -> Summary:
    output = await _read_last_output(agent, f"{run.folder}/events.jsonl")
    end = run.state.exit
    if not run.is_alive:
        is_told = output is not None and output.verdict in _SETTLED_BY_END
        if output is None or (not is_told if end is None else output.at_ns < end.event.at_ns):
            output = await _judge(agent, make_matcher, clock, run)
        ended_ns = end.event.wall_ns if end is not None else None
        return Summary(State.EXITED, output.verdict, output.stage, output.cause, ended_ns=ended_ns)
    launched = run.manifest.launched
    up_s = (clock.boottime_ns() - launched.boottime_ns) / _NS if launched else None
    if output is None or output.verdict in _UNSETTLED:
        output = await _judge(agent, make_matcher, clock, run)
    state = State.SERVING if output.verdict is Verdict.READY else State.STARTING
    state = State.UNKEPT if run.state.is_unkept else state
    return Summary(state, output.verdict, output.stage, output.cause, up_s)


async def find_stage(
    agent: Agent, make_matcher: Callable[[str | None], Matcher], run: Run
) -> Stage | None:
    """Where a living run is now; None when neither a session nor its log tells.

    What a session saw last counts only once the start was over: a session that ended earlier does
    not know how far it went on.
    """
    output = await _read_last_output(agent, f"{run.folder}/events.jsonl")
    if output is None or output.verdict in _UNSETTLED:
        output = await _judge(agent, make_matcher, await HostClock.read(agent), run)
    return output.stage


async def _read_last_output(agent: Agent, path: str) -> _Output | None:
    facts = await stat_file(agent, path)
    if facts is None:
        return None
    tail = await read_file(agent, path, offset=max(0, facts.size - TAIL_BYTES))
    for line in reversed(tail.splitlines()):
        with contextlib.suppress(ValueError, KeyError, TypeError):
            value = json.loads(line)
            if value["event"] in OUTPUT_KINDS:
                stage = Stage(value["stage"]) if value["stage"] else None
                return _Output(value["at_ns"], Verdict(value["verdict"]), stage, value["cause"])
    return None


async def _judge(
    agent: Agent, make_matcher: Callable[[str | None], Matcher], clock: HostClock, run: Run
) -> _Output:
    """Replay what the run's folder holds, and leave the conclusion there for the next time."""
    launched = run.manifest.launched
    at_ns = launched.boottime_ns if launched else 0
    wall_ns = launched.wall_ns if launched else clock.wall_ns()
    pipeline = Pipeline(
        make_matcher(run.spec.engine),
        year=datetime.fromtimestamp(wall_ns / _NS, UTC).year,
        engine=run.spec.engine,
        run=run.label,
    )
    pid = run.state.server.pid if run.state.server else None
    pipeline.feed(Begun(at_ns, wall_ns, run.spec, pid, is_launched=True, log=run.log))
    history = await load_history(agent, run.folder, run.log, run.state.log_start)
    async for event in replay_history(agent, run.log, history):
        at_ns = event.at_ns
        pipeline.feed(event)
    if run.state.exit is not None:
        pipeline.feed(run.state.exit.event)
    elif pid is not None and not run.is_alive and not run.state.is_keeper_alive:
        has_restarted = run.manifest.boot_id not in (None, agent.hello["boot_id"])
        at_ns = at_ns if has_restarted else clock.boottime_ns()  # boottime began anew
        why = RESTARTED if has_restarted else None
        pipeline.feed(Exited(at_ns, clock.wall_ns(), pid, error=why))
    explanation = pipeline.snapshot().explanation
    cause = explanation.cause.failure if explanation.cause else None
    output = _Output(clock.boottime_ns(), explanation.verdict, explanation.stage, cause)
    value = {
        "at_ns": output.at_ns,
        "verdict": output.verdict,
        "stage": output.stage,
        "cause": output.cause,
        "was_ready": has_come_up(explanation),
        "version": explanation.version,
    }
    if run.is_alive:  # nothing is settled yet
        return output
    with contextlib.suppress(HostError):
        line = encode_output("diagnosis", value)
        await append_file(agent, f"{run.folder}/events.jsonl", line)
    return output
