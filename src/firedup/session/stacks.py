"""Takes the stacks of a server's processes, keeps their text, and compares them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from firedup.core.error import HostError
from firedup.core.event import StacksTaken
from firedup.core.stack import StackMember, Stacks
from firedup.core.verdict.crew import Member
from firedup.core.verdict.stack import group_stacks, read_stack
from firedup.host.base import OperationError
from firedup.host.file import append_file
from firedup.host.link import Agent
from firedup.host.stack import ProcessStack, Taken, take_stacks
from firedup.profile.wait import find_wait
from firedup.session.clock import HostClock

# For all processes together; one that answers nobody costs the others nothing.
LIMIT_S = 20.0
MOST_PROCESSES = 64
_PIECE_BYTES = 256 * 1024
_NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Place:
    """Where stacks are kept: `folder` is the run's on the host, None for a server without a run.

    `conceal` takes secrets and control sequences out of one line. `is_armed`: the server's
    processes were started so that they can be asked for their stacks by a signal.
    """

    folder: str | None = None
    is_armed: bool = False
    conceal: Callable[[str], str] = str


async def take_of(
    agent: Agent, members: Sequence[Member], place: Place, *, limit_s: float = LIMIT_S
) -> StacksTaken:
    """The stacks of `members`, the first of them where there are many.

    Raises HostError where the host does not answer; what cannot be kept is shown all the same.
    """
    chosen = {member.pid: member for member in members[:MOST_PROCESSES]}
    clock = await HostClock.read(agent)
    taken = await take_stacks(agent, tuple(chosen), limit_s=limit_s, is_armed=place.is_armed)
    wall_ns = clock.wall_ns() - (clock.boottime_ns() - taken.at_ns)
    names = {pid: member.name for pid, member in chosen.items()}
    found = [
        read_stack(
            StackMember(place.conceal(names[one.pid]), one.pid, one.state, one.by),
            one.text,
            is_rank=chosen[one.pid].is_rank,
            kernel=one.kernel,
            wait_channel=one.wchan,
            why_not=one.why_not,
        )
        for one in taken.taken
        if one.pid in chosen
    ]
    stacks = Stacks(taken.at_ns, wall_ns, group_stacks(found, find_wait))
    if place.folder is not None:
        path = f"{place.folder}/stacks-{_stamp(wall_ns)}.txt"
        with contextlib.suppress(OperationError):
            await _keep(agent, path, render_text(taken, names, wall_ns, place.conceal))
            stacks = replace(stacks, path=path)
    return StacksTaken(taken.at_ns, stacks)


def render_text(
    taken: Taken, names: dict[int, str], wall_ns: int, conceal: Callable[[str], str]
) -> str:
    """All that was taken as the text of a file, each line made fit for any reader."""
    moment = datetime.fromtimestamp(wall_ns // _NS, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    lines = [f"stacks taken at {moment}"]
    for one in taken.taken:
        lines += ["", *_describe(one, names.get(one.pid, one.title))]
    return "\n".join(conceal(line) for line in lines) + "\n"


def _describe(one: ProcessStack, name: str) -> list[str]:
    head = f"== {name} (pid {one.pid}): state {one.state or '?'}"
    head += f" in {one.wchan}" if one.wchan else ""
    lines = [f"{head}, by {one.by}"]
    if one.why_not:
        lines.append(f"   {one.why_not}")
    lines += one.text.splitlines()
    if one.kernel and one.kernel != one.text:
        lines += ["-- in the kernel", *one.kernel.splitlines()]
    return lines


async def _keep(agent: Agent, path: str, text: str) -> None:
    data = text.encode("utf-8", "replace")
    for start in range(0, len(data), _PIECE_BYTES):
        await append_file(agent, path, data[start : start + _PIECE_BYTES])


def _stamp(wall_ns: int) -> str:
    return datetime.fromtimestamp(wall_ns // _NS, UTC).strftime("%Y%m%d-%H%M%S")


async def try_taking(
    agent: Agent, members: Sequence[Member], place: Place, *, limit_s: float = LIMIT_S
) -> StacksTaken | str:
    """As `take_of`, within twice the limit; a sentence where that failed but the link stands."""
    if not members:
        return "no stacks were taken: no process of the server is known"
    try:
        async with asyncio.timeout(2 * limit_s):
            return await take_of(agent, members, place, limit_s=limit_s)
    except TimeoutError:
        return f"no stacks were taken: nothing came within {2 * limit_s:g} s"
    except OperationError as error:
        return f"no stacks were taken: {error.what}"
    except HostError:
        if agent.is_alive:
            return "no stacks were taken: the host gave no answer"
        raise
