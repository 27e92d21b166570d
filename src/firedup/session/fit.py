"""What speaks against a launch in its checkpoints: damaged files, a drafter that would crash it."""

from __future__ import annotations

import posixpath

from firedup.core.checked import CheckFinding, Harm
from firedup.core.model import Evidence, Finding, ServerSpec, Severity
from firedup.drafter.case import Launch
from firedup.drafter.checkpoint import Checkpoint
from firedup.drafter.launch import read_launch
from firedup.drafter.pair import Question, check_described
from firedup.drafter.place import There
from firedup.drafter.ranges import outside
from firedup.drafter.whole import read_whole, tell_doubts, tell_lack
from firedup.host.file import check_paths
from firedup.host.link import Agent
from firedup.session.installed import find_version
from firedup.session.order import Order

_MADE_UP = "dummy"  # a load format without weights
# Load formats that read the files which a checkpoint is known by; others have files of their own.
_FROM_FILES = ("auto", "hf", "safetensors", "pt")
_NEED_CONFIG = ("sglang", "vllm")
_CONFIGS = ("config.json", "params.json")  # of Hugging Face, and of Mistral
_ELSEWHERE = ("hf-config-path", "config-format")  # flags that say that it is another file


async def check_checkpoints(
    agent: Agent, order: Order, spec: ServerSpec, cwd: str, paths: dict[str, str]
) -> list[Finding]:
    """Reasons against the launch in the checkpoints at `paths` (role → absolute path).

    Only what would crash the server is one, the rest are warnings. Where the engine's version is
    not known, that is what crashes all versions.
    """
    place = There(agent)
    launch = read_launch(order.argv, dict(order.env), spec.tensor_parallel)
    load_format = launch.flags.get("load-format", "auto")
    found: list[Finding] = []
    risks: list[Finding] = []
    read = []
    for role, path in paths.items():
        checkpoint, problems = await read_whole(place, path, role)
        found += problems
        if checkpoint is not None:
            read.append((place, checkpoint))
            found += tell_lack(checkpoint, role, makes_up_weights=load_format not in _FROM_FILES)
            found += await _find_config(agent, spec, checkpoint, role, launch)
            risks += tell_doubts(checkpoint, role)
    if found or len(read) < 2 or load_format == _MADE_UP:
        return [*found, *risks]
    version = await find_version(agent, order, spec.engine, cwd)
    question = Question(spec.engine, version, launch)
    checked = await check_described(read[0], read[1], question)
    crashes = [one for one in checked.findings if one.harm is Harm.CRASH]
    dooms = [_tell(one) for one in crashes if version is not None or _is_certain(one)]
    return [*dooms, *risks]


async def _find_config(
    agent: Agent, spec: ServerSpec, checkpoint: Checkpoint, role: str, launch: Launch
) -> list[Finding]:
    """A reason against the launch where a folder has no file that says what model it is."""
    is_broken = any(one.file == _CONFIGS[0] for one in checkpoint.damages)
    if spec.engine not in _NEED_CONFIG or checkpoint.config or checkpoint.gguf or is_broken:
        return []
    if any(flag in launch.flags for flag in _ELSEWHERE):
        return []
    folder, *configs = await check_paths(
        agent, (checkpoint.path, *(posixpath.join(checkpoint.path, name) for name in _CONFIGS))
    )
    is_folder = folder.file is not None and folder.file.kind == "folder"
    if not is_folder or any(one.exists for one in configs):
        return []
    return [
        Finding(
            f"{role}-without-config",
            Severity.SEVERE,
            f"The folder of the {role} does not say what model it holds.",
            (Evidence("file", f"{checkpoint.path}: no {_CONFIGS[0]} in this folder"),),
            "Give the folder that holds it, or download it again.",
        )
    ]


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
