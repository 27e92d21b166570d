"""Launches a server through the agent, so that it outlives every client."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from firedup.host.agent.boot import BOOT
from firedup.host.base import Host, local_host
from firedup.host.bundle import load_bundle
from firedup.host.link import Agent, open_agent
from firedup.host.manifest import Manifest, encode_manifest
from firedup.host.slurm import SlurmJob


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


async def launch_server(
    agent: Agent, manifest: Manifest, *, will_watch: bool = False, timeout_s: float = 60.0
) -> Launch:
    """Makes the run folder, starts the keeper, and returns once the server's program runs.

    With `will_watch` the keeper lets this client tell first from the beginning, however soon the
    server ends.

    Raises OperationError: "exec-failed" when the program did not begin (the run folder then tells
    so too), "exists" when the id is taken, "denied" or "no-space" when the folder is refused.
    """
    order = {"manifest": encode_manifest(manifest), "will_watch": will_watch}
    hop = agent.host.hops[-1] if agent.host.hops else None
    if isinstance(hop, SlurmJob):
        result = await _launch_step(agent, hop, order, timeout_s)
    else:
        result = await agent.call("launch", timeout_s=timeout_s, **order)
    return Launch(
        folder=result["folder"],
        log=result["log"],
        log_start=result["log_start"],
        server=Identity(result["server"]["pid"], result["server"]["start_ticks"]),
        keeper=Identity(result["keeper"]["pid"], result["keeper"]["start_ticks"]),
    )


async def _launch_step(
    agent: Agent, job: SlurmJob, order: dict[str, Any], timeout_s: float
) -> dict[str, Any]:
    """Launch in a step of its own, begun from where `srun` is: the agent's step ends with it."""
    prepared = await agent.call("launch", only_prepares=True, **order)
    size = str(len(load_bundle().text))
    folder = prepared["folder"]
    keep = (agent.host.python, "-I", "-S", "-c", BOOT, "-", size, "keep", folder, "stay")
    hops = agent.host.hops[:-1]
    side = Host(",".join(hop.word for hop in hops), hops) if hops else local_host()
    async with open_agent(side) as outside:
        report = await outside.call("step", argv=list(job.wrap(keep)), timeout_s=timeout_s)
    return dict(report, folder=folder)
