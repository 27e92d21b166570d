"""Launches a server through the agent, so that it outlives every client."""

from __future__ import annotations

from dataclasses import dataclass

from firedup.host.link import Agent
from firedup.host.manifest import Manifest, encode_manifest


@dataclass(frozen=True, slots=True)
class Identity:
    """A process that can be told from a later one with the same pid."""

    pid: int
    start_ticks: int


@dataclass(frozen=True, slots=True)
class Launch:
    """A server whose program has begun. `log_start` is the size its log had before."""

    folder: str
    log: str
    log_start: int
    server: Identity
    keeper: Identity


async def launch_server(agent: Agent, manifest: Manifest, *, timeout_s: float = 60.0) -> Launch:
    """Makes the run folder, starts the keeper, and returns once the server's program runs.

    Raises OperationError: "exec-failed" when the program did not begin (the run folder then tells
    so too), "exists" when the id is taken, "denied" or "no-space" when the folder is refused.
    """
    value = encode_manifest(manifest)
    result = await agent.call("launch", manifest=value, timeout_s=timeout_s)
    return Launch(
        folder=result["folder"],
        log=result["log"],
        log_start=result["log_start"],
        server=Identity(result["server"]["pid"], result["server"]["start_ticks"]),
        keeper=Identity(result["keeper"]["pid"], result["keeper"]["start_ticks"]),
    )
