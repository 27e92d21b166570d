"""Ends all nodes of one run: the head first, since the others take their leave from it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from firedup.core.error import FiredupError
from firedup.core.event import Exited, StopAsked
from firedup.core.node import label_hosts
from firedup.host.file import append_file
from firedup.profile.schema import Catalogue
from firedup.session.clock import HostClock
from firedup.session.nodes import Member
from firedup.session.stop import stop_run
from firedup.store.event import encode_event


async def stop_nodes(
    members: Sequence[Member],
    catalogue: Catalogue,
    *,
    say: Callable[[str], None],
    grace_s: float | None = None,
) -> tuple[Exited | FiredupError | None, ...]:
    """Stop every node; how each ended, None if unknown, or why it could not be stopped.

    SGLang's other nodes wait for a word of the head when they are asked to end, and those of vLLM
    and Ray end with it. What does not is stopped afterwards, all at once.
    """
    labels = label_hosts(tuple(member.host for member in members))
    await asyncio.gather(*(_note_wish(member) for member in members))

    async def stop(member: Member) -> Exited | FiredupError | None:
        label = labels[member.rank]
        if member.agent is None or member.run is None:
            return member.fault or FiredupError(f"{label} was not reached")
        try:
            return await stop_run(
                member.agent,
                catalogue,
                member.run,
                say=lambda text: say(f"{label}: {text}"),
                grace_s=grace_s,
            )
        except FiredupError as error:  # the others must end all the same
            return error

    head = await stop(members[0])
    return (head, *await asyncio.gather(*(stop(member) for member in members[1:])))


async def _note_wish(member: Member) -> None:
    """Record on each host that the end was asked for: it may come before its own signal does."""
    agent, run = member.agent, member.run
    if agent is None or run is None or not run.is_alive:
        return
    try:
        clock = await HostClock.read(agent)
        asked = StopAsked(clock.boottime_ns(), "firedup stop")
        await append_file(agent, f"{run.folder}/events.jsonl", encode_event(asked))
    except FiredupError:
        pass  # its stop will tell
