"""What can be known in a few seconds before a launch, from all that it needs on its host."""

from __future__ import annotations

import asyncio
import contextlib
import posixpath
import shlex
from collections.abc import Awaitable, Callable, Collection

from firedup.core.error import HostError
from firedup.core.model import Evidence, Finding, Ownership, ServerSpec, Severity
from firedup.host.file import check_paths, find_program
from firedup.host.link import Agent
from firedup.host.process import describe_process, fetch_port
from firedup.session.container import check_container, path_outside
from firedup.session.fit import check_checkpoints
from firedup.session.order import Order
from firedup.session.preflight_host import HOST_CHECKS, Facts, check_host, fetch_facts
from firedup.session.registry import Run, list_runs

ALL = "all"
# The checks by the names by which they are left out.
CHECKS = ("folder", "program", "container", "ports", "checkpoints", "log", *HOST_CHECKS)
_NULL = "/dev/null"


async def check_launch(
    agent: Agent,
    order: Order,
    spec: ServerSpec,
    cwd: str,
    own: Collection[int] = (),
    *,
    names: Collection[str] = (),
) -> list[Finding]:
    """What speaks against the launch: severe is what dooms it, the rest are warnings.

    `cwd` is the absolute folder on the host in which the command will run. `own` are processes that
    will be gone by then, so that their ports and GPUs count as free. `names` are variables whose
    values only the host knows. The checks that `order` skips are left out.
    """
    skips = {*order.skips, *(CHECKS if ALL in order.skips else ())}
    facts = Facts(agent, order, spec, cwd, frozenset(own), frozenset(names))
    checkpoints = asyncio.ensure_future(_find_checkpoints(facts))
    checks: dict[str, Callable[[], Awaitable[list[Finding]]]] = {
        "folder": lambda: _check_folder(agent, cwd),
        "program": lambda: _check_program(facts),
        "container": lambda: _check_container(order),
        "ports": lambda: _check_ports(agent, spec, own),
        "checkpoints": lambda: _check_checkpoints(facts, checkpoints),
        "log": lambda: _check_log(facts),
        "host": lambda: check_host(facts, checkpoints, skips),
    }
    asked = {name: check for name, check in checks.items() if name not in skips}
    if skips >= set(HOST_CHECKS):
        asked.pop("host", None)
    results = await asyncio.gather(*(check() for check in asked.values()))
    await checkpoints
    found = [finding for result in results for finding in result]
    return sorted(found, key=lambda finding: finding.severity is not Severity.SEVERE)


async def note_facts(facts: Facts) -> dict[str, str]:
    """What the manifest keeps of the host for comparing a later start with this one."""
    drafter = (await _find_checkpoints(facts)).get("drafter")
    return await fetch_facts(facts, drafter)


async def _check_container(order: Order) -> list[Finding]:
    return list(check_container(order.argv))


async def _find_checkpoints(facts: Facts) -> dict[str, str]:
    """Where target and drafter lie on the host, by role; without what may be a hub's name."""
    found = {}
    for path, role in ((facts.spec.model, "model"), (facts.spec.draft, "drafter")):
        outside = path_outside(facts.order.argv, path) if path is not None else None
        if outside is not None and (local := _local_path(outside, facts.cwd)):
            exists = (await check_paths(facts.agent, (local,)))[0].exists
            if exists or _is_surely_path(outside):
                found[role] = local
    return found


async def _check_checkpoints(
    facts: Facts, checkpoints: asyncio.Future[dict[str, str]]
) -> list[Finding]:
    paths = await checkpoints
    return await check_checkpoints(facts.agent, facts.order, facts.spec, facts.cwd, paths)


def _local_path(path: str, cwd: str) -> str | None:
    """Where `path` would lie on the host; None for what can only be a hub's name."""
    if "://" in path or not path:
        return None
    return posixpath.normpath(posixpath.join(cwd, path))


def _is_surely_path(path: str) -> bool:
    """A name such as org/model may be a hub's; these forms may not."""
    is_formed = path.startswith(("/", "./", "../", "~")) or path.count("/") > 1
    return is_formed or path.endswith((".gguf", ".safetensors"))


async def _check_folder(agent: Agent, cwd: str) -> list[Finding]:
    facts = (await check_paths(agent, (cwd,)))[0]
    if facts.exists and facts.file is not None and facts.file.kind == "folder":
        return []
    text = f"{cwd}: {'not a folder' if facts.exists else 'no such folder'}"
    return [
        Finding(
            "folder-missing",
            Severity.SEVERE,
            "The folder to run in does not exist on this host.",
            (Evidence("file", text),),
            "Correct --cwd.",
        )
    ]


async def _check_program(facts: Facts) -> list[Finding]:
    order = facts.order
    if order.setup is not None or order.login or "PATH" in facts.names:
        return []
    path = dict(order.env).get("PATH")
    usable, unusable = await find_program(facts.agent, order.argv[0], path=path, cwd=facts.cwd)
    if usable is not None:
        return []
    if unusable is not None:
        text, todo = f"{unusable}: not executable", f"chmod +x {unusable}"
    else:
        text = f"{order.argv[0]}: not found"
        todo = "Correct the name, or give --setup 'source …/activate' for its environment."
    return [
        Finding(
            "program-not-found",
            Severity.SEVERE,
            "The program of the command cannot be run on this host.",
            (Evidence("command", text),),
            todo,
        )
    ]


async def _check_ports(agent: Agent, spec: ServerSpec, own: Collection[int]) -> list[Finding]:
    found = []
    for port in dict.fromkeys(p for p in (spec.port, *spec.derived_ports) if p):
        owner = (await fetch_port(agent, port)).judge(own, bind=spec.bind)
        if owner.owner not in (Ownership.NO, Ownership.UNKNOWN):
            continue
        who = f"pid {owner.pid} ({owner.command})" if owner.pid else "a process of another user"
        run = await _find_owner(agent, owner.pid) if owner.pid else None
        word = _type_run(run) if run is not None else ""
        derived = "" if port == spec.port else f" (derived from port {spec.port})"
        found.append(
            Finding(
                "port-in-use",
                Severity.SEVERE,
                f"Port {port}{derived} is taken: the server could not bind it after loading.",
                (Evidence("port", f"port {port} belongs to {who}"),),
                f"That is a run of yours: end it with firedup stop {word}, or choose another port."
                if word
                else "Stop that process or choose another port.",
            )
        )
    return found


async def _find_owner(agent: Agent, pid: int) -> Run | None:
    """The run whose server the process `pid` is, or a child of its server; None when none is."""
    with contextlib.suppress(HostError):
        pids = {pid, (await describe_process(agent, pid)).parent}
        for run in await list_runs(agent):
            if run.is_alive and run.state.server is not None and run.state.server.pid in pids:
                return run
    return None


def _type_run(run: Run) -> str:
    """What a command calls it; its id where its name means another one, or cannot be typed."""
    host = "" if run.label.host == "local" else f" --host {shlex.quote(run.label.host)}"
    return f"{run.label.id}{host}"


async def _check_log(about: Facts) -> list[Finding]:
    if about.order.log is None:
        return []
    agent, path = about.agent, posixpath.join(about.cwd, about.order.log)
    facts = (await check_paths(agent, (path,)))[0]
    if facts.file is not None and facts.file.real_path == _NULL:
        return [
            Finding(
                "log-not-kept",
                Severity.SEVERE,
                "What is written to /dev/null is kept nowhere, so the server could not be watched.",
                (Evidence("file", f"--log {path}"),),
                "Leave out --log: the log then lies in the run's folder; firedup prune deletes it.",
            )
        ]
    text = None
    if facts.exists and facts.file is not None and facts.file.kind == "folder":
        text = f"{path} is a folder"
    elif facts.file is not None and facts.file.kind == "other":
        text = f"{path} is a pipe or a device, not a file"
    elif facts.exists and not facts.is_writable:
        text = f"{path}: not writable"
    elif not facts.exists:
        nearest = (await check_paths(agent, (facts.nearest,)))[0].file
        is_folder = nearest is not None and nearest.kind == "folder"
        if not is_folder or not facts.is_nearest_writable:
            fault = "not writable" if is_folder else "not a folder"
            text = f"{facts.nearest}: {fault}, so {path} cannot be created"
    if text is None:
        return []
    return [
        Finding(
            "log-not-writable",
            Severity.SEVERE,
            "The log cannot be written where --log wants it.",
            (Evidence("file", text),),
            "Choose another path for --log.",
        )
    ]
