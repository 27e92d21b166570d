"""What earlier runs concluded, read from the end of what was recorded of each."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from firedup.core.difference import describe_changes
from firedup.core.error import HostError
from firedup.core.forecast import StageTime, StartTimes
from firedup.core.model import ServerSpec, Stage
from firedup.host.file import read_file, stat_file
from firedup.host.link import Agent
from firedup.session.registry import Run, list_runs
from firedup.store.event import OUTPUT_KINDS

# So many earlier starts are looked at, the newest: what a host was long ago says little of today.
MOST_STARTS = 24
TAIL_BYTES = 16 * 1024
LONG_TAIL_BYTES = 64 * 1024
# What differs between two starts without making either slower.
_IDLE_FLAGS = frozenset(
    (
        "--port",
        "--host",
        "--served-model-name",
        "--alias",
        "--api-key",
        "--nccl-port",
        "--dist-init-addr",
        "--master-port",
    )
)


async def fetch_starts(agent: Agent, run: Run) -> tuple[StartTimes, ...]:
    """The times of earlier starts like `run` that came up, newest first.

    Alike are those of the same engine, target, drafter and parallelism. A host that does not answer
    knows of none.
    """
    return await _fetch(
        agent, lambda past: _is_like(past, run), lambda past: has_same_flags(past, run)
    )


async def fetch_starts_of(agent: Agent, spec: ServerSpec) -> tuple[StartTimes, ...]:
    """The same for a server that somebody else started with the command in `spec`."""

    def is_like(past: Run) -> bool:
        its_kind = _kind(past.spec, past.manifest.argv)
        return past.manifest.node == 0 and its_kind == _kind(spec, spec.argv)

    def has_its_flags(past: Run) -> bool:
        changes = describe_changes({}, past.manifest.argv, {}, spec.argv)
        return all(change.name in _IDLE_FLAGS for change in changes)

    return await _fetch(agent, is_like, has_its_flags)


async def _fetch(
    agent: Agent, is_like: Callable[[Run], bool], has_its_flags: Callable[[Run], bool]
) -> tuple[StartTimes, ...]:
    with contextlib.suppress(HostError):
        earlier = [past for past in await list_runs(agent) if is_like(past)][:MOST_STARTS]
        tails = await asyncio.gather(*(read_tail(agent, past) for past in earlier))
        pairs = zip(earlier, tails, strict=True)
        found = (
            start_of(outputs_of(tail), has_same_flags=has_its_flags(past)) for past, tail in pairs
        )
        return tuple(start for start in found if start is not None)
    return ()


def start_of(
    outputs: Iterator[Mapping[str, Any]], *, has_same_flags: bool = True
) -> StartTimes | None:
    """The times of a start by the newest of its `outputs` that tells them; None if none does."""
    for value in outputs:
        ready_s = value.get("ready_after_s")
        if isinstance(ready_s, (int, float)):
            stages = tuple(t for t in times_of(value.get("stages")) if t.began_s <= ready_s)
            return StartTimes(float(ready_s), stages, has_same_flags)
    return None


def times_of(value: object) -> tuple[StageTime, ...]:
    """The stages of an output; what cannot be read is left out."""
    times = []
    for item in value if isinstance(value, list) else ():
        with contextlib.suppress(ValueError, TypeError):
            stage, began_s, seconds = item
            times.append(StageTime(Stage(stage), float(began_s), float(seconds)))
    return tuple(times)


async def read_tail(agent: Agent, run: Run) -> bytes:
    """The end of what was recorded of `run`; empty where there is nothing to be read."""
    with contextlib.suppress(HostError):
        return await _read_end(agent, run, TAIL_BYTES)
    return b""


async def read_outputs(agent: Agent, run: Run) -> tuple[Mapping[str, Any], ...]:
    """What sessions concluded about `run`, newest first, as far as the end of its record tells."""
    return tuple(outputs_of(await _read_end(agent, run, LONG_TAIL_BYTES)))


async def _read_end(agent: Agent, run: Run, size: int) -> bytes:
    path = f"{run.folder}/events.jsonl"
    facts = await stat_file(agent, path)
    if facts is None:
        return b""
    return await read_file(agent, path, offset=max(0, facts.size - size))


def outputs_of(tail: bytes) -> Iterator[Mapping[str, Any]]:
    """What sessions concluded, newest first."""
    for line in reversed(tail.splitlines()):
        with contextlib.suppress(ValueError):
            value = json.loads(line)
            if isinstance(value, dict) and value.get("event") in OUTPUT_KINDS:
                yield value


def before(runs: Sequence[Run], run: Run) -> list[Run]:
    """Those of `runs` that were launched before `run`, on the same node; in their order."""
    launched = run.manifest.launched
    return [
        past
        for past in runs
        if past.label.id != run.label.id
        and past.manifest.launched is not None
        and launched is not None
        and past.manifest.launched.wall_ns < launched.wall_ns
        and past.manifest.node == run.manifest.node
    ]


def has_same_flags(past: Run, run: Run) -> bool:
    """Whether both were launched with the same flags and environment, but for names and ports."""
    changes = describe_changes(
        past.manifest.env, past.manifest.argv, run.manifest.env, run.manifest.argv
    )
    return all(change.name in _IDLE_FLAGS for change in changes)


def _is_like(past: Run, run: Run) -> bool:
    return bool(before([past], run)) and _kind_of(past) == _kind_of(run)


def _kind_of(run: Run) -> tuple[object, ...]:
    return _kind(run.spec, run.manifest.argv)


def _kind(spec: ServerSpec, argv: tuple[str, ...]) -> tuple[object, ...]:
    return spec.engine, spec.model or argv, spec.draft, spec.tensor_parallel
