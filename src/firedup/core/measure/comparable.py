"""Whether two measurements may be held against each other: what differs, and what forbids it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from firedup.core.difference import Change, describe_changes
from firedup.core.measure.measured import Conditions


class Weight(Enum):
    """What a difference does to a comparison."""

    HARMLESS = "harmless"  # listed and no more
    MATTERS = "matters"  # the speed-up may come from it in part
    FORBIDS = "forbids"  # the speed-up would be that of something else

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Obstacle:
    """One difference: `name` is a condition, a flag or a variable.

    A side is None if it is not known of a condition, or not given of the others.

    The values are as they were given, secrets too: views show them through view/change.py.
    """

    name: str
    baseline: str | None
    candidate: str | None
    weight: Weight
    why: str
    is_condition: bool = False


# Conditions that belong to a figure, and why another one makes it another figure.
_BINDING = {
    "engine": "another engine has another speed without any drafter",
    "version": "another version of the engine has another speed without any drafter",
    "model": "the speed of one model says nothing about another",
    "host": "the speed of one host says nothing about another",
    "max_tokens": "time per token depends on how long the answers are",
    "ignores_eos": "answers that end by themselves have other lengths",
    "prompts": "speeds are compared prompt by prompt",
}
_TELLING = {
    "seed": "other prompts were drawn; only those in both are compared",
    "client": "what lies between client and server adds its own time, a tunnel most of all",
}
# The same flag under several names, by the last of them.
_NAMES = {
    f"--{short}{end}": f"--{long}-parallel-size"
    for short, long in (("tp", "tensor"), ("dp", "data"), ("pp", "pipeline"), ("ep", "expert"))
    for end in ("", "-size")
}
# What makes a server a candidate: it is the thing that is compared.
_EXPERIMENT = re.compile(r"-.*(spec|draft|eagle|ngram|lookahead|lookup|medusa)|-md$|--model-draft")
_HARMLESS_FLAG = re.compile(
    r"--?(port|host|log-.*|.*-log-.*|disable-log.*|.*log-requests.*|api-key|served-model-name"
    r"|.*metrics.*|uvicorn-.*|show-time-cost|skip-server-warmup|watchdog-timeout|alias|verbose|v)$"
)
_SHAPING_FLAG = re.compile(
    r"--?(tp|tp-size|tensor-parallel-size|dp|dp-size|data-parallel-size|pp|pp-size"
    r"|pipeline-parallel-size|ep|ep-size|expert-parallel-size|enable-expert-parallel|nnodes"
    r"|dtype|quantization|q|kv-cache-dtype|enforce-eager|disable-cuda-graph|enable-dp-attention"
    r"|ngl|n-gpu-layers|gpu-layers|t|threads|ts|tensor-split)$"
)
_SHAPING_VARIABLE = re.compile(r"NCCL_|RCCL_|CUDA_VISIBLE_DEVICES$|HIP_VISIBLE_DEVICES$|OMP_NUM_")
_SIMULATED = re.compile(r"SGLANG_SIMULATE_ACC|SIMULATE_ACC_")
_HARMLESS_VARIABLE = re.compile(r".*(_API_KEY|_TOKEN|LOG_LEVEL|LOGGING_LEVEL)$|PYTHONUNBUFFERED$")


def find_obstacles(baseline: Conditions, candidate: Conditions) -> tuple[Obstacle, ...]:
    """All that differs, what forbids the comparison first.

    What is known of one side alone is told as something that matters: it may differ.
    """
    found = [*_conditions(baseline, candidate), *_settings(baseline, candidate)]
    order = (Weight.FORBIDS, Weight.MATTERS, Weight.HARMLESS)
    return tuple(sorted(found, key=lambda one: order.index(one.weight)))


def are_comparable(obstacles: tuple[Obstacle, ...]) -> bool:
    """Whether nothing among `obstacles` forbids a comparison."""
    return all(one.weight is not Weight.FORBIDS for one in obstacles)


def _conditions(baseline: Conditions, candidate: Conditions) -> Iterator[Obstacle]:
    for name, reason in (_BINDING | _TELLING).items():
        before, after = getattr(baseline, name), getattr(candidate, name)
        if before == after:
            continue
        is_known = before is not None and after is not None
        weight = Weight.FORBIDS if name in _BINDING and is_known else Weight.MATTERS
        why = reason if is_known else f"it is not known on one side, and {reason}"
        shown = name.replace("_", " ")
        yield Obstacle(shown, _text(before), _text(after), weight, why, is_condition=True)
    if baseline.speculates and candidate.speculates is False:
        why = "the baseline speculates and the candidate does not: are they the wrong way round?"
        yield Obstacle("speculation", "yes", "no", Weight.FORBIDS, why, is_condition=True)
    elif baseline.drafter is not None:
        why = "a baseline is a server without speculation; this compares two drafters"
        pair = (baseline.drafter, candidate.drafter)
        yield Obstacle("drafter", *pair, Weight.MATTERS, why, is_condition=True)


def _settings(baseline: Conditions, candidate: Conditions) -> Iterator[Obstacle]:
    has_flags = baseline.flags is not None and candidate.flags is not None
    has_variables = baseline.environment is not None and candidate.environment is not None
    for name, is_known in (("flags", has_flags), ("environment", has_variables)):
        if not is_known and getattr(baseline, name) != getattr(candidate, name):
            why = "they are not known of both servers, and the speed may come from them"
            yield Obstacle(name, None, None, Weight.MATTERS, why, is_condition=True)
    changes = describe_changes(
        (baseline.environment or {}) if has_variables else {},
        _argv(baseline.flags if has_flags else None),
        (candidate.environment or {}) if has_variables else {},
        _argv(candidate.flags if has_flags else None),
    )
    for change in changes:
        weight, why = _weigh(change)
        yield Obstacle(change.name, change.old, change.new, weight, why)


def _argv(flags: tuple[str, ...] | None) -> list[str]:
    """Flags as a command line, each under one name and with one kind of dash."""
    argv = [""]
    for word in flags or ():
        name, equals, value = word.partition("=")
        if name.startswith("--"):
            name = name.replace("_", "-")
        argv.append(_NAMES.get(name, name) + equals + value)
    return argv


def _weigh(change: Change) -> tuple[Weight, str]:
    name = change.name
    if name.startswith("-"):
        if _EXPERIMENT.match(name):
            return Weight.HARMLESS, "speculation is what is compared"
        if _HARMLESS_FLAG.match(name):
            return Weight.HARMLESS, "it does not touch the speed"
        if _SHAPING_FLAG.match(name):
            return Weight.FORBIDS, "it changes what a plain step costs: the baseline moves too"
        return Weight.MATTERS, "a part of the speed-up may come from it"
    if _SIMULATED.match(name):
        return Weight.FORBIDS, "acceptance is simulated: such a speed is no answer's"
    if _SHAPING_VARIABLE.match(name):
        return Weight.FORBIDS, "it changes what a plain step costs: the baseline moves too"
    if _HARMLESS_VARIABLE.match(name):
        return Weight.HARMLESS, "it does not touch the speed"
    return Weight.MATTERS, "a part of the speed-up may come from it"


def _text(value: object) -> str | None:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return None if value is None else str(value)
