"""The last run like this one that came up, and what is different now."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace

from firedup.core.difference import Change, Comparison, Launch, compare_launches
from firedup.core.error import HostError
from firedup.core.model import Explanation, Verdict
from firedup.host.link import Agent
from firedup.host.manifest import Manifest
from firedup.session.past import before, outputs_of, read_tail
from firedup.session.registry import Run, list_runs

# So many earlier runs are asked whether they came up, each by the end of what was recorded.
MOST_RUNS = 12
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
            tails = await asyncio.gather(*(read_tail(agent, past) for past in earlier))
            for past, tail in zip(earlier, tails, strict=True):
                if (version := _version_once_up(tail)) is not None:
                    launch = launch_of(past.manifest)
                    return Precedent(past.label.id, replace(launch, version=version or None))
    return None


def launch_of(manifest: Manifest) -> Launch:
    """What `manifest` says that a server was launched with."""
    return Launch(
        manifest.argv,
        tuple(manifest.env.items()),
        manifest.setup,
        manifest.cwd or None,
        facts=tuple(manifest.facts.items()),
    )


def compare_runs(
    old: Run, old_version: str | None, new: Run, new_version: str | None
) -> tuple[Change, ...]:
    """Everything that `new` was launched with and `old` was not, and the other way round.

    The versions are those of their engines.
    """
    before = replace(launch_of(old.manifest), version=old_version)
    return compare_launches(before, replace(launch_of(new.manifest), version=new_version))


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
    earlier = before(runs, run)
    named = [past for past in earlier if past.label.name == run.label.name]
    yield named[:MOST_RUNS]
    wanted = (run.spec.engine, run.spec.model)
    alike = [past for past in earlier if (past.spec.engine, past.spec.model) == wanted]
    if run.spec.model is not None:
        yield [past for past in alike if past not in named][:MOST_RUNS]


def _version_once_up(tail: bytes) -> str | None:
    """The version of a run that came up, "" where it is not known; None where it never did."""
    for value in outputs_of(tail):
        if value.get("was_ready") or value.get("verdict") == Verdict.READY:
            return str(value.get("version") or "")
    return None
