"""What is known of a run without watching it: the state of its process and the last verdict."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from firedup.core.error import HostError
from firedup.core.forecast import StageTime
from firedup.core.model import Stage, State, Verdict
from firedup.core.rule import Matcher
from firedup.host.file import append_file
from firedup.host.link import Agent
from firedup.host.run import read_last_sample
from firedup.session.clock import HostClock
from firedup.session.hookfailure import fetch_hook_failures
from firedup.session.past import read_outputs, times_of
from firedup.session.recorder import make_output
from firedup.session.registry import Run
from firedup.session.replayed import replay_run
from firedup.store.event import encode_output

_NS = 1_000_000_000
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
    `ready_after_s` and `stages` are how long the start took, `served_s` how long it served then.
    `odd` are the processes whose stacks stood apart. `stall` is the finding for which firedup
    stopped the server by itself.
    """

    state: State
    verdict: Verdict
    stage: Stage | None = None
    cause: str | None = None
    up_s: float | None = None
    ended_ns: int | None = None
    hook_failures: tuple[str, ...] = ()
    version: str | None = None
    ready_after_s: float | None = None
    served_s: float | None = None
    stages: tuple[StageTime, ...] = ()
    odd: tuple[str, ...] = ()
    stall: str | None = None


@dataclass(frozen=True, slots=True)
class _Output:
    """What a session concluded last, and when by the host's boottime."""

    at_ns: int
    verdict: Verdict
    stage: Stage | None
    cause: str | None
    version: str | None = None
    ready_after_s: float | None = None
    served_s: float | None = None
    stages: tuple[StageTime, ...] | None = None  # None: it does not say
    odd: tuple[str, ...] = ()
    stall: str | None = None
    vital: tuple[tuple[int, int], ...] = ()  # pids and start times


async def summarise_runs(
    agent: Agent,
    make_matcher: Callable[[str | None], Matcher],
    runs: Iterable[Run],
    *,
    with_times: bool = False,
) -> tuple[Summary, ...]:
    """A summary of each run. What no session concluded is judged from the run folder.

    `with_times` judges those of older versions once more, which did not note how long stages took.
    `make_matcher` takes an engine and is called for that alone. Several runs are asked about at the
    same time, since a far host takes long for each answer.
    """
    clock = await HostClock.read(agent)
    gate = asyncio.Semaphore(MOST_AT_ONCE)

    async def summarise(run: Run) -> Summary | HostError:
        async with gate:
            try:
                summary = await _summarise(agent, make_matcher, clock, run, with_times)
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
    agent: Agent,
    make_matcher: Callable[[str | None], Matcher],
    clock: HostClock,
    run: Run,
    with_times: bool,  # noqa: FBT001
) -> Summary:
    output = await _read_last_output(agent, run)
    end = run.state.exit
    if not run.is_alive:
        is_told = output is not None and output.verdict in _SETTLED_BY_END
        is_late = not is_told if end is None else output is None or output.at_ns < end.event.at_ns
        if output is None or is_late or (with_times and output.stages is None):
            output = await _judge(agent, make_matcher, clock, run)
        ended_ns = end.event.wall_ns if end is not None else None
        return _summary(State.EXITED, output, ended_ns=ended_ns)
    launched = run.manifest.launched
    up_s = (clock.boottime_ns() - launched.boottime_ns) / _NS if launched else None
    if output is None or output.verdict in _UNSETTLED or await _has_lost(agent, run, output):
        output = await _judge(agent, make_matcher, clock, run)
    has_served = output.verdict is Verdict.CRASHED and output.served_s is not None
    is_up = output.verdict is Verdict.READY or has_served
    state = State.SERVING if is_up else State.STARTING
    state = State.UNKEPT if run.state.is_unkept else state
    return _summary(state, output, up_s=up_s)


async def _has_lost(agent: Agent, run: Run, output: _Output) -> bool:
    """Whether a process is gone without which a server that was ready serves nothing."""
    if output.verdict is not Verdict.READY or not output.vital:
        return False
    sample = await read_last_sample(agent, run.folder)
    if sample is None:
        return False
    living = {(p.pid, p.start_ticks) for p in sample.processes if p.state not in "ZX"}
    return not living.issuperset(output.vital)


def _summary(
    state: State, output: _Output, *, up_s: float | None = None, ended_ns: int | None = None
) -> Summary:
    return Summary(
        state,
        output.verdict,
        output.stage,
        output.cause,
        up_s,
        ended_ns,
        version=output.version,
        ready_after_s=output.ready_after_s,
        served_s=output.served_s,
        stages=output.stages or (),
        odd=output.odd,
        stall=output.stall,
    )


async def find_stage(
    agent: Agent, make_matcher: Callable[[str | None], Matcher], run: Run
) -> Stage | None:
    """Where a living run is now; None when neither a session nor its log tells.

    What a session saw last counts only once the start was over: a session that ended earlier does
    not know how far it went on.
    """
    output = await _read_last_output(agent, run)
    if output is None or output.verdict in _UNSETTLED:
        output = await _judge(agent, make_matcher, await HostClock.read(agent), run)
    return output.stage


async def _read_last_output(agent: Agent, run: Run) -> _Output | None:
    for value in await read_outputs(agent, run):
        with contextlib.suppress(ValueError, KeyError, TypeError):
            return _parse(value)
    return None


def _parse(value: Mapping[str, Any]) -> _Output:
    return _Output(
        value["at_ns"],
        Verdict(value["verdict"]),
        Stage(value["stage"]) if value["stage"] else None,
        value["cause"],
        value.get("version"),
        value.get("ready_after_s"),
        value.get("served_s"),
        times_of(value["stages"]) if "stages" in value else None,
        tuple(str(name) for name in value.get("odd", ())),
        value.get("stall"),
        tuple((int(pid), int(ticks)) for pid, ticks in value.get("vital", ())),
    )


async def _judge(
    agent: Agent, make_matcher: Callable[[str | None], Matcher], clock: HostClock, run: Run
) -> _Output:
    """Replay what the run's folder holds, and leave the conclusion there for the next time."""
    found = await replay_run(agent, run, make_matcher(run.spec.engine), clock)
    value = {**make_output(found.snapshot), "at_ns": clock.boottime_ns()}
    output = _parse(value)
    if run.is_alive:  # nothing is settled yet
        return output
    with contextlib.suppress(HostError):
        line = encode_output("diagnosis", value)
        await append_file(agent, f"{run.folder}/events.jsonl", line)
    return output
