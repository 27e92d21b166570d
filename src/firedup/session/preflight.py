"""What can be known in a second before a launch: program, ports, paths, whole checkpoints, log."""

from __future__ import annotations

import posixpath
from collections.abc import Collection

from firedup.core.model import Evidence, Finding, Ownership, ServerSpec, Severity
from firedup.host.file import check_paths, find_program
from firedup.host.link import Agent
from firedup.host.process import fetch_port
from firedup.session.container import check_container, path_outside
from firedup.session.fit import check_checkpoints
from firedup.session.order import Order

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
    """Reasons why the launch is doomed, most telling first; empty when nothing speaks against it.

    `cwd` is the absolute folder on the host in which the command will run. `own` are processes that
    will be gone by then, so that their ports count as free. `names` are variables whose values only
    the host knows.
    """
    found: list[Finding] = []
    found += await _check_folder(agent, cwd)
    if order.setup is None and not order.login and "PATH" not in names:
        found += await _check_program(agent, order, cwd)
    found += check_container(order.argv)
    found += await _check_ports(agent, spec, own)
    checkpoints: dict[str, str] = {}
    for path, role in ((spec.model, "model"), (spec.draft, "drafter")):
        outside = path_outside(order.argv, path) if path is not None else None
        if outside is not None and (local := _local_path(outside, cwd)):
            exists = (await check_paths(agent, (local,)))[0].exists
            if exists or _is_surely_path(outside):
                checkpoints[role] = local
    found += await check_checkpoints(agent, order, spec, cwd, checkpoints)
    if order.log is not None:
        found += await _check_log(agent, posixpath.join(cwd, order.log))
    return found


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


async def _check_program(agent: Agent, order: Order, cwd: str) -> list[Finding]:
    path = dict(order.env).get("PATH")
    usable, unusable = await find_program(agent, order.argv[0], path=path, cwd=cwd)
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
        derived = "" if port == spec.port else f" (derived from port {spec.port})"
        found.append(
            Finding(
                "port-in-use",
                Severity.SEVERE,
                f"Port {port}{derived} is taken: the server could not bind it after loading.",
                (Evidence("port", f"port {port} belongs to {who}"),),
                "Stop that process or choose another port.",
            )
        )
    return found


async def _check_log(agent: Agent, path: str) -> list[Finding]:
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
