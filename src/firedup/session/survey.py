"""What a host offers: who one is there, where runs lie, which engines and GPUs it has."""

from __future__ import annotations

import asyncio
import secrets
import shlex
import time
from collections.abc import Mapping
from dataclasses import dataclass

from firedup.host.base import OperationError
from firedup.host.command import run_there
from firedup.host.config import HostMemory
from firedup.host.file import PathFacts, check_paths
from firedup.host.link import Agent
from firedup.host.program import Output
from firedup.host.route import read_route
from firedup.profile.schema import Catalogue
from firedup.session.open import open_host
from firedup.session.path import path_below_home, suspect_home

LIMIT_S = 40.0
_NS = 1_000_000_000
# The setup runs as before a launch: in bash, and what it prints is out of the way. The braces make
# bash read all of it before any of it could read the rest as its own input.
_SCRIPT = """{{
status=0
{{ {setup}
}} >&2 || status=$?
printf '%s %s\\n' {mark} "$status"
for program in {programs}; do
  printf 'at %s %s\\n' "$program" "$(command -v "$program")"
done
python=$(command -v python || command -v python3) && "$python" -c '
import sys
from importlib.metadata import version
for name in sys.argv[1:]:
    try:
        print("is", name, version(name))
    except Exception:
        pass
' {engines} 2>/dev/null
nvidia-smi --query-gpu=name,memory.total --format=csv,noheader 2>/dev/null | sed 's/^/gpu /'
exit 0
}} </dev/null
"""


@dataclass(frozen=True, slots=True)
class Engine:
    """An engine that can be started on the host; either half may be unknown."""

    name: str
    version: str | None = None
    path: str | None = None


@dataclass(frozen=True, slots=True)
class Survey:
    """What was found on a host; `booted_ns` and `wall_ns` are its wall time.

    `reached_s` is how long it took until the agent answered. `problems` are sentences about what
    is remembered of the host and does not hold there.
    """

    host: str
    route: str | None
    reached_s: float
    user: str
    hostname: str
    python: str
    booted_ns: int
    wall_ns: int
    home: str
    runs_folder: str
    free_bytes: int
    file_system: str
    engines: tuple[Engine, ...]
    gpus: tuple[str, ...]
    problems: tuple[str, ...]


async def survey_host(text: str, memory: HostMemory, catalogue: Catalogue) -> Survey:
    """Look at the host that `text` names, after the setup that is remembered of it.

    The engines of `catalogue` are looked for. HostError when the host cannot be reached.
    """
    begun_s = time.monotonic()
    async with open_host(text) as agent:
        reached_s = time.monotonic() - begun_s
        hello = agent.hello
        async with asyncio.TaskGroup() as group:
            route = group.create_task(read_route(agent.host))
            shown = group.create_task(_run_script(agent, memory, catalogue))
            places = group.create_task(check_paths(agent, (str(hello["runs_folder"]),)))
            problems = group.create_task(_check_memory(agent, memory))
        (runs,) = places.result()
        engines, gpus, complaint = shown.result()
        return Survey(
            host=agent.host.name,
            route=route.result(),
            reached_s=reached_s,
            user=str(hello["user"]),
            hostname=str(hello["hostname"]),
            python=str(hello["python"]),
            booted_ns=int(hello["wall_ns"]) - int(hello["boottime_ns"]),
            wall_ns=int(hello["wall_ns"]),
            home=str(hello["home"]),
            runs_folder=str(hello["runs_folder"]),
            free_bytes=runs.free_bytes,
            file_system=runs.file_system,
            engines=engines,
            gpus=gpus,
            problems=(*complaint, *problems.result(), *_check_room(runs)),
        )


async def _run_script(
    agent: Agent, memory: HostMemory, catalogue: Catalogue
) -> tuple[tuple[Engine, ...], tuple[str, ...], tuple[str, ...]]:
    mark = f"firedup-{secrets.token_hex(8)}"
    known = {p.command.programs[0]: p.engine for p in catalogue.profiles if p.command.programs}
    script = _SCRIPT.format(
        setup=memory.setup or ":",
        mark=mark,
        programs=shlex.join(known),
        engines=shlex.join(known.values()),
    )
    shell = ("bash", "-l") if memory.login else ("bash",) if memory.setup else ("sh",)
    done = await run_there(agent.host, shell, text=script, limit_s=LIMIT_S)
    before, found, said = done.out.partition(f"{mark} ")
    if not found:
        return (), (), (_tell_no_answer(memory, done),)
    status, *lines = said.splitlines()
    complaint: tuple[str, ...] = ()
    if status.strip() != "0":
        last = (done.err.strip() or before.strip()).splitlines()[-1:]
        evidence = f": {last[0]}" if last else ""
        complaint = (f"the setup ends with status {status.strip()}{evidence}",)
    return _read_engines(lines, known), _read_gpus(lines), complaint


def _tell_no_answer(memory: HostMemory, done: Output) -> str:
    what = "the setup" if memory.setup else "the shell"
    if done.status is None:
        return f"{what} did not end within {LIMIT_S:.0f} s"
    last = done.err.strip().splitlines()[-1:]
    return f"{what} ended the shell, status {done.status}{f': {last[0]}' if last else ''}"


def _read_engines(lines: list[str], known: Mapping[str, str]) -> tuple[Engine, ...]:
    """`known` has each engine's program, and the name under which Python knows its version."""
    paths: dict[str, str] = {}
    versions: dict[str, str] = {}
    for line in lines:
        match line.split(" ", 2):
            case ["at", name, path] if path.strip():
                paths[name] = path.strip()
            case ["is", name, version]:
                versions[name] = version.strip()
    return tuple(
        Engine(program, versions.get(engine), paths.get(program))
        for program, engine in known.items()
        if program in paths or engine in versions
    )


def _read_gpus(lines: list[str]) -> tuple[str, ...]:
    return tuple(line[4:].strip() for line in lines if line.startswith("gpu ") and "," in line)


async def _check_memory(agent: Agent, memory: HostMemory) -> tuple[str, ...]:
    """What is wrong with the folder and the file of variables."""
    problems: list[str] = []
    if memory.cwd:
        place = path_below_home(agent, memory.cwd)
        (facts,) = await check_paths(agent, (place,))
        if facts.file is None or facts.file.kind != "folder":
            problems.append(f"the folder {place} does not exist{_hint_home(agent, memory.cwd)}")
    if memory.env_file:
        try:
            found = await agent.call("variables", paths=[memory.env_file])
            error = found["files"][0]["error"]
        except OperationError as failure:
            error = {"what": failure.what, "why": None}
        if error is not None:
            said = ": ".join(filter(None, (error["what"], error.get("why"))))
            problems.append(said + _hint_home(agent, memory.env_file))
    return tuple(problems)


def _hint_home(agent: Agent, path: str) -> str:
    quoted = suspect_home(agent, path)
    return f" (did your shell replace a ~? Quote it: {quoted})" if quoted else ""


def _check_room(runs: PathFacts) -> tuple[str, ...]:
    if runs.is_writable if runs.exists else runs.is_nearest_writable:
        return ()
    return (f"the folder of the runs cannot be written: {runs.path}",)
