"""The last run like this one that came up, and what is different now."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace

from firedup.core.difference import Comparison, Launch, compare_launches
from firedup.core.error import HostError
from firedup.core.model import Explanation, Verdict
from firedup.host.file import read_file, stat_file
from firedup.host.link import Agent
from firedup.host.manifest import Manifest
from firedup.session.registry import Run, list_runs
from firedup.store.event import OUTPUT_KINDS

# So many earlier runs are asked whether they came up, each by the end of what was recorded.
MOST_RUNS = 12
TAIL_BYTES = 16 * 1024
# Where a start failed, the difference matters.
FAILED = (Verdict.CRASHED, Verdict.STALLED, Verdict.TIMED_OUT)


@dataclass(frozen=True, slots=True)
class Precedent:
    """A run that came up: its id and what it was launched with."""

    run: str
    launch: Launch


async def find_precedent(agent: Agent, run: Run) -> Precedent | None:
    """The newest run before `run`, of its name or else of its model, that came up; None if none.

    A host that does not answer knows of none.
    """
    with contextlib.suppress(HostError):
        for earlier in _like(await list_runs(agent), run):
            tails = await asyncio.gather(*(_read_outputs(agent, past) for past in earlier))
            for past, tail in zip(earlier, tails, strict=True):
                if (version := _version_once_up(tail)) is not None:
                    launch = launch_of(past.manifest)
                    return Precedent(past.label.id, replace(launch, version=version or None))
    return None


def launch_of(manifest: Manifest) -> Launch:
    """What `manifest` says that a server was launched with."""
    return Launch(manifest.argv, tuple(manifest.env.items()), manifest.setup, manifest.cwd or None)


def with_precedent(explanation: Explanation, precedent: Precedent, launch: Launch) -> Explanation:
    """`explanation` of a failed `launch` with what is different since the last good one."""
    if explanation.verdict not in FAILED:
        return explanation
    now = replace(launch, version=explanation.version)
    mentions = explanation.cause.mentions if explanation.cause else ()
    changes = compare_launches(precedent.launch, now, mentions)
    return replace(explanation, since_good=Comparison(precedent.run, changes))


def _like(runs: tuple[Run, ...], run: Run) -> Iterator[list[Run]]:
    """Runs before `run`, newest first: those of its name, then those of its engine and model."""
    launched = run.manifest.launched
    before = [
        past
        for past in runs
        if past.label.id != run.label.id
        and past.manifest.launched is not None
        and launched is not None
        and past.manifest.launched.wall_ns < launched.wall_ns
        and past.manifest.node == run.manifest.node
    ]
    named = [past for past in before if past.label.name == run.label.name]
    yield named[:MOST_RUNS]
    wanted = (run.spec.engine, run.spec.model)
    alike = [past for past in before if (past.spec.engine, past.spec.model) == wanted]
    if run.spec.model is not None:
        yield [past for past in alike if past not in named][:MOST_RUNS]


async def _read_outputs(agent: Agent, run: Run) -> bytes:
    path = f"{run.folder}/events.jsonl"
    with contextlib.suppress(HostError):
        if (facts := await stat_file(agent, path)) is not None:
            return await read_file(agent, path, offset=max(0, facts.size - TAIL_BYTES))
    return b""


def _version_once_up(tail: bytes) -> str | None:
    """The version of a run that came up, "" where it is not known; None where it never did."""
    for line in reversed(tail.splitlines()):
        with contextlib.suppress(ValueError, KeyError, TypeError):
            value = json.loads(line)
            was_ready = value.get("was_ready") or value["verdict"] == Verdict.READY
            if value["event"] in OUTPUT_KINDS and was_ready:
                return str(value.get("version") or "")
    return None
