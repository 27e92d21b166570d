"""What speaks against a launch in its checkpoints: damaged files, a drafter that would crash it."""

from __future__ import annotations

from firedup.core.checked import CheckFinding, Harm
from firedup.core.model import Finding, ServerSpec, Severity
from firedup.drafter.launch import read_launch
from firedup.drafter.pair import Question, check_described
from firedup.drafter.place import There
from firedup.drafter.ranges import outside
from firedup.drafter.whole import read_whole
from firedup.host.link import Agent
from firedup.session.installed import find_version
from firedup.session.order import Order

_MADE_UP = "dummy"  # a load format without weights


async def check_checkpoints(
    agent: Agent, order: Order, spec: ServerSpec, cwd: str, paths: dict[str, str]
) -> list[Finding]:
    """Reasons against the launch in the checkpoints at `paths` (role → absolute path).

    Only what would crash the server is one. Where the engine's version is not known, that is what
    crashes all versions.
    """
    place = There(agent)
    found: list[Finding] = []
    read = []
    for role, path in paths.items():
        checkpoint, problems = await read_whole(place, path, role)
        found += problems
        read += [(place, checkpoint)] if checkpoint is not None else []
    launch = read_launch(order.argv, dict(order.env), spec.tensor_parallel)
    if found or len(read) < 2 or launch.flags.get("load-format") == _MADE_UP:
        return found
    version = await find_version(agent, order, spec.engine, cwd)
    question = Question(spec.engine, version, launch)
    checked = await check_described(read[0], read[1], question)
    crashes = [one for one in checked.findings if one.harm is Harm.CRASH]
    return [_tell(one) for one in crashes if version is not None or _is_certain(one)]


def _is_certain(one: CheckFinding) -> bool:
    """Whether it crashes every version of an engine."""
    if not one.consequences:
        return True
    crashing: dict[str, list[str]] = {}
    for item in one.consequences:
        if item.harm is Harm.CRASH:
            crashing.setdefault(item.engine, []).append(item.versions)
    return any(not outside(spans) for spans in crashing.values())


def _tell(one: CheckFinding) -> Finding:
    does = next((item.text for item in one.consequences if item.harm is Harm.CRASH), "")
    does = f" The engine: {does}." if does else ""
    return Finding(one.id, Severity.SEVERE, one.message + does, one.evidence, one.remedy)
