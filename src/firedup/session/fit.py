"""What speaks against a launch in its checkpoints: damaged files, a drafter that would crash it."""

from __future__ import annotations

from firedup.core.checked import CheckFinding, Harm
from firedup.core.model import Finding, ServerSpec, Severity
from firedup.drafter.launch import read_launch
from firedup.drafter.pair import Question, check_pair
from firedup.drafter.place import There
from firedup.drafter.whole import check_whole
from firedup.host.link import Agent
from firedup.session.order import Order

_MADE_UP = "dummy"  # a load format without weights


async def check_checkpoints(
    agent: Agent, order: Order, spec: ServerSpec, paths: dict[str, str]
) -> list[Finding]:
    """Reasons against the launch in the checkpoints at `paths` (role → absolute path)."""
    found = [one for role, path in paths.items() for one in await check_whole(agent, path, role)]
    launch = read_launch(order.argv, dict(order.env), spec.tensor_parallel)
    if found or len(paths) < 2 or launch.flags.get("load-format") == _MADE_UP:
        return found
    place, question = There(agent), Question(spec.engine, None, launch)
    checked = await check_pair((place, paths["model"]), (place, paths["drafter"]), question)
    return [_tell(one) for one in checked.findings if _is_certain(one)]


def _is_certain(one: CheckFinding) -> bool:
    """A crash whichever version it is, since that is not known before the launch."""
    if one.harm is not Harm.CRASH or not one.consequences:
        return one.harm is Harm.CRASH
    return any(item.harm is Harm.CRASH and not item.versions for item in one.consequences)


def _tell(one: CheckFinding) -> Finding:
    does = next((item.text for item in one.consequences if item.harm is Harm.CRASH), "")
    message = f"{one.message} {does[:1].upper()}{does[1:]}".strip()
    if not message.endswith((".", "!", "?")):
        message += "."
    return Finding(one.id, Severity.SEVERE, message, one.evidence, one.remedy)
