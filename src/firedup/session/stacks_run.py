"""The stacks of a run's processes at somebody's wish, told to the run as well."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from firedup.core.error import FiredupError, HostError, UsageError
from firedup.core.event import StacksTaken
from firedup.core.node import label_hosts
from firedup.core.stack import Stacks
from firedup.core.verdict.crew import Member, find_members
from firedup.core.verdict.motion import Motions
from firedup.core.verdict.stack import join_stacks
from firedup.host.base import OperationError
from firedup.host.file import append_file
from firedup.host.link import Agent
from firedup.host.process import sample_tree
from firedup.session.nodes import open_members
from firedup.session.registry import Run
from firedup.session.stacks import Place, try_taking
from firedup.store.event import encode_event


@dataclass(frozen=True, slots=True)
class Asked:
    """What came of it: `stacks` None where nothing was taken; `troubles` are sentences."""

    stacks: Stacks | None
    troubles: tuple[str, ...] = ()


async def take_of_run(agent: Agent, run: Run, conceal: Callable[[str], str]) -> Asked:
    """Take the stacks of all processes of `run` that matter, on all its nodes.

    UsageError when its server has ended.
    """
    if not run.manifest.nodes:
        if not run.is_alive:
            raise _ended(run)
        found = await _take(agent, run, conceal)
        return Asked(None, (found,)) if isinstance(found, str) else Asked(found.stacks)
    labels = label_hosts(run.manifest.nodes)
    async with open_members(run) as members:
        if not any(member.run is not None and member.run.is_alive for member in members):
            raise _ended(run)
        taken = await asyncio.gather(
            *(_take_there(member.agent, member.run, member.fault, conceal) for member in members)
        )
    pairs = list(zip(labels, taken, strict=True))
    known = [(label, None if isinstance(one, str) else one.stacks) for label, one in pairs]
    troubles = tuple(f"{label}: {one}" for label, one in pairs if isinstance(one, str))
    return Asked(join_stacks(known), troubles)


def _ended(run: Run) -> UsageError:
    return UsageError(
        f"{run.label.name} ({run.label.id}) has ended, so that no process of it has a stack",
        todo=f"firedup explain {run.label.id} tells why, with the stacks that were taken before.",
    )


async def _take_there(
    agent: Agent | None, run: Run | None, fault: FiredupError | None, conceal: Callable[[str], str]
) -> StacksTaken | str:
    """Of one node; a sentence where nothing can be taken there."""
    if agent is None or run is None:
        return fault.what if fault is not None else "it was not reached"
    if not run.is_alive:
        return "its server has ended"
    try:
        return await _take(agent, run, conceal)
    except HostError as error:
        return error.what


async def _take(agent: Agent, run: Run, conceal: Callable[[str], str]) -> StacksTaken | str:
    members = await _find_crew(agent, run)
    place = Place(run.folder, run.manifest.arms_stacks, conceal)
    found = await try_taking(agent, members, place)
    if isinstance(found, StacksTaken):
        with contextlib.suppress(OperationError):  # a full disk: what was seen is shown at least
            await append_file(agent, f"{run.folder}/events.jsonl", encode_event(found))
    return found


async def _find_crew(agent: Agent, run: Run) -> Sequence[Member]:
    """The processes that matter; the keeper has those whose parents are gone."""
    server, keeper = run.state.server, run.state.keeper
    if server is None:
        return ()
    top = keeper if keeper is not None and run.state.is_keeper_alive else server
    try:
        sample = await sample_tree(agent, top.pid)
    except OperationError:  # it ended just now
        return ()
    motions = Motions()
    motions.feed(sample)
    found = find_members(motions, server.pid, {})
    return [member for member in found if keeper is None or member.pid != keeper.pid]
