"""What the host itself has against a launch: room, GPUs, packages, and what servers left behind."""

from __future__ import annotations

import asyncio
import contextlib
import posixpath
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from firedup.core.error import HostError
from firedup.core.model import Finding, ServerSpec
from firedup.host.file import check_paths
from firedup.host.link import Agent
from firedup.session.forecaster import weigh
from firedup.session.order import Order
from firedup.session.preflight_advice import advise_watchdog
from firedup.session.preflight_gpu import check_gpus
from firedup.session.preflight_package import PACKAGES, check_packages
from firedup.session.preflight_room import (
    check_disk,
    check_left_behind,
    check_memory,
    check_shared,
)

HOST_CHECKS = ("disk", "shared-memory", "memory", "gpus", "packages", "left-behind", "watchdog")
LIMIT_S = 8.0  # a driver in trouble may never answer, and a launch does not wait for it


@dataclass(frozen=True, slots=True)
class Facts:
    """What a launch is checked for, as `check_launch` has it."""

    agent: Agent
    order: Order
    spec: ServerSpec
    cwd: str
    own: frozenset[int] = frozenset()
    names: frozenset[str] = frozenset()


async def look_before(
    facts: Facts, *, packages: bool = True, digests: Collection[str] = ()
) -> Mapping[str, Any]:
    """The agent's facts: GPUs, left shared memory, versions; empty where it has none to give."""
    order, args = facts.order, dict[str, Any](digests=list(digests))
    # What a setup or a login shell brings along is not known.
    if packages and order.setup is None and not order.login and "PATH" not in facts.names:
        args |= {"program": order.argv[0], "cwd": facts.cwd, "packages": list(PACKAGES)}
        args["path"] = dict(order.env).get("PATH")
    with contextlib.suppress(HostError):
        return await facts.agent.call("before", timeout_s=LIMIT_S, **args)
    return {}


async def fetch_facts(facts: Facts, drafter: str | None) -> dict[str, str]:
    """Versions of kernel, driver and packages, and a digest of the drafter at the path `drafter`.

    What a later start is compared by; what cannot be known is left out.
    """
    before = await look_before(facts, digests=[drafter] if drafter else [])
    packages = before.get("packages") or {}
    digest = (before.get("digests") or {}).get(drafter)
    known = {
        "kernel": before.get("kernel"),
        "driver": before.get("driver"),
        **{name: packages[name].get("version") for name in PACKAGES if name in packages},
        "drafter's files": digest,
    }
    return {name: str(value) for name, value in known.items() if value}


async def check_host(
    facts: Facts, checkpoints: asyncio.Future[dict[str, str]], skips: Collection[str]
) -> list[Finding]:
    """The findings of the checks in `HOST_CHECKS` that are not among `skips`."""
    agent, spec = facts.agent, facts.spec
    has_packages = not {"packages", "watchdog"} <= {*skips}
    before, memory, disks, weights = await asyncio.gather(
        look_before(facts, packages=has_packages),
        agent.call("memory"),
        _list_disks(facts),
        _weigh(agent, checkpoints),
    )
    gpus = before.get("gpus")
    checks: dict[str, Callable[[], list[Finding]]] = {
        "disk": lambda: check_disk(disks),
        "shared-memory": lambda: check_shared(memory, spec),
        "memory": lambda: check_memory(memory, spec, weights, has_gpus=bool(gpus)),
        "gpus": lambda: check_gpus(gpus, spec, dict(facts.order.env), weights, tuple(facts.own)),
        "packages": lambda: check_packages(spec.engine, before.get("packages") or {}),
        "left-behind": lambda: check_left_behind(before.get("segments") or ()),
        "watchdog": lambda: advise_watchdog(spec, before.get("packages") or {}),
    }
    return [f for name, check in checks.items() if name not in skips for f in check()]


async def _weigh(agent: Agent, checkpoints: asyncio.Future[dict[str, str]]) -> int:
    """The size of the weights of target and drafter."""
    paths = (await checkpoints).values()
    return sum([await weigh(agent, path) for path in paths])


async def _list_disks(facts: Facts) -> list[tuple[str, Any]]:
    agent, env = facts.agent, dict(facts.order.env)
    home = str(agent.hello["home"])
    log = facts.order.log
    places = {
        "log": posixpath.join(facts.cwd, log) if log else str(agent.hello["runs_folder"]),
        "run folder": str(agent.hello["runs_folder"]),
        "caches": env.get("XDG_CACHE_HOME") or posixpath.join(home, ".cache"),
    }
    found = await check_paths(agent, tuple(places.values()))
    return list(zip(places, found, strict=True))
