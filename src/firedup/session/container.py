"""Runs whose server lives in a container that their command starts."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from firedup.core.error import UsageError
from firedup.core.event import Begun
from firedup.core.model import Evidence, Finding, ServerSpec, Severity
from firedup.host.base import OperationError
from firedup.host.containerlog import ContainerLog
from firedup.host.file import read_file
from firedup.host.link import Agent
from firedup.host.manifest import ContainerOrder
from firedup.host.pour import run_short
from firedup.host.process import PortFacts
from firedup.probe.target import make_target
from firedup.profile.command import complete_command, read_command
from firedup.profile.container import ContainerCommand, parse_container
from firedup.profile.schema import Catalogue
from firedup.session.reach import look_through, reach
from firedup.session.registry import Run
from firedup.session.watch import Watch

LOOK_S = 1.0
# Beyond the grace that the container engine leaves to the server before it kills it.
STOP_MARGIN_S = 30.0


def order_container(argv: tuple[str, ...], catalogue: Catalogue) -> ContainerOrder | None:
    """What the host has to know to follow the container that `argv` starts, if it does."""
    found = parse_container(argv)
    if found is None:
        return None
    client = found.client
    compose: tuple[str, ...] = ()
    if found.verb == "up":
        at = client.index("compose")
        client, compose = client[:at], client[at:]
    elif client[-1] == "container":
        client = client[:-1]
    return ContainerOrder(
        program=found.program,
        client=client,
        verb=found.verb,
        at=found.at,
        compose=compose,
        name=found.name,
        cidfile=found.cidfile,
        is_detached=found.is_detached,
        is_on_host=found.is_on_host,
        services=found.services,
        hints=_hints(catalogue) if found.verb == "up" else (),
    )


def _hints(catalogue: Catalogue) -> tuple[str, ...]:
    """Words by which the command or the image of an engine is known."""
    words = []
    for profile in catalogue.profiles:
        command = profile.command
        words += [*command.modules, *command.programs, profile.engine]
        words.append(profile.engine.replace("-", "."))
    return tuple(dict.fromkeys(word for word in words if len(word) > 3))


def check_container(argv: tuple[str, ...]) -> list[Finding]:
    """What speaks against a launch of the container that `argv` starts."""
    found = parse_container(argv)
    if found is None or not found.wants_terminal:
        return []
    return [
        Finding(
            "terminal-asked",
            Severity.SEVERE,
            "The command asks for a terminal, and a server in the background has none.",
            (Evidence("command", f"{found.program} {found.verb} with -i and -t"),),
            "Leave out -it.",
        )
    ]


def name_container(argv: tuple[str, ...]) -> str | None:
    """What to call a run by its container: as that is named, else by its service or image."""
    found = parse_container(argv)
    if found is None:
        return None
    return found.name or next(iter(found.services), None) or found.image.partition(":")[0] or None


def path_outside(argv: tuple[str, ...], path: str) -> str | None:
    """Where on the host a path of the command lies; None inside a container without a mount."""
    found: ContainerCommand | None = parse_container(argv)
    return path if found is None else found.outside(path)


@dataclass(frozen=True, slots=True)
class Carried:
    """A container as the carrier of a run has noted it."""

    id: str
    client: tuple[str, ...]
    has_ended: bool


async def read_carried(agent: Agent, run: Run) -> Carried | None:
    """The container of a run; None while there is none (its image may still be fetched)."""
    if run.manifest.container is None:
        return None
    try:
        told: dict[str, Any] = json.loads(await read_file(agent, f"{run.folder}/container.json"))
    except (OperationError, ValueError):
        return None
    if not told.get("id"):
        return None
    return Carried(told["id"], tuple(told["client"]), "end" in told)


async def stop_container(
    agent: Agent, run: Run, grace_s: float, say: Callable[[str], None]
) -> bool:
    """Let the container engine stop the server of `run`; False when there is no container (yet).

    It sends the image's stop signal, mostly SIGTERM, and SIGKILL after `grace_s`.
    """
    found = await read_carried(agent, run)
    if found is None or found.has_ended:
        return False
    argv = (*found.client, "stop", "-t", str(max(0, round(grace_s))), "--", found.id)
    shown = " ".join((*found.client, "stop", "-t", f"{grace_s:.0f}", found.id[:12]))
    say(f"{shown}, waiting up to {grace_s:g} s")
    output = await run_short(agent, argv, timeout_s=grace_s + STOP_MARGIN_S)
    if output.code != 0 and output.words:
        say(output.words.splitlines()[-1])
    return output.code == 0


def look_beyond(watch: Watch, spec: ServerSpec) -> Callable[[Agent, int], Any]:
    """Who listens on a published port: a proxy, or nobody where the network's rules do it."""
    address = make_target(watch.agent, spec, None).address

    async def look(agent: Agent, port: int) -> PortFacts:
        return await look_through(agent, port, address)

    return look


async def take_spec(
    agent: Agent, watch: Watch, catalogue: Catalogue, run: Run, begun: Begun
) -> None:
    """Of a composed server nothing is known before it runs: read its command then, and ask it.

    Once that was done, the watch asks it over each new link by itself.
    """
    if watch.prober is not None:
        return
    while (found := await read_carried(agent, run)) is None:  # noqa: ASYNC110 - another host's
        await asyncio.sleep(LOOK_S)
    program = run.manifest.container.program if run.manifest.container else "docker"
    try:
        standing = await ContainerLog(found.id, program).look(agent)
    except UsageError:  # it is gone already
        return
    argv = complete_command(standing.argv, standing.image, catalogue)
    spec, _ = reach(read_command(argv, {}, catalogue), standing)
    watch.feed(replace(begun, spec=replace(spec, argv=run.spec.argv)))
    target = make_target(agent, spec, catalogue.profile(spec.engine), run_folder=run.folder)

    async def find_own(_: Agent) -> frozenset[int]:
        return watch.pipeline.pids

    prober = watch.ask_through(target, None, find_own)
    prober.look = look_beyond(watch, spec)
    await prober.run()
