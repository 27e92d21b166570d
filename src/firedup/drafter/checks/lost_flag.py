"""The drafter's files hold norms that its config does not switch on, or the other way round.

EAGLE-3.1 drafters normalise what fc reads: `fc_norm.0…` one stream each, `input_norm` all together.
Engines build them only if config.json says so (`fc_norm`, `norm_before_fc`). Converters have
lost these flags; fc then reads numbers of another scale than in training.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from firedup.core.checked import CheckFinding, Consequence, Harm
from firedup.core.model import Evidence
from firedup.drafter.case import Case
from firedup.drafter.checks.tensor_unknown import BY_KEY, BY_MODULE
from firedup.drafter.config import inner
from firedup.drafter.expected import held, streams_of
from firedup.drafter.tell import config_evidence, llama_cpp, sglang, some, tensor_evidence, vllm

IDS = {
    "norm-flag-missing": "The drafter's files hold norms that its config does not switch on.",
    "norm-tensor-missing": "The config switches norms on that the drafter's files do not hold.",
}


@dataclass(frozen=True, slots=True)
class NormFlag:
    """A group of norms and the keys of config.json that switch them on; the first is written."""

    keys: tuple[str, ...]
    tensors: tuple[str, ...]


def flags_of(case: Case) -> tuple[NormFlag, ...]:
    """The groups that an EAGLE-3 drafter may have."""
    streams = tuple(f"fc_norm.{number}.weight" for number in range(streams_of(case)))
    legacy = ("aux_norm_low.weight", "aux_norm_mid.weight", "aux_norm_high.weight")
    parts = legacy if held(case, legacy[0]) is not None else streams
    return (
        NormFlag(("fc_norm", "use_aux_norm"), parts),
        NormFlag(("norm_before_fc",), ("input_norm.weight",)),
    )


def is_on(config: Mapping[str, Any], flag: NormFlag) -> bool:
    """Whether the config switches it on, at its top or in eagle_config."""
    places = (config, inner(config, "eagle_config"))
    return any(bool(place.get(key)) for place in places for key in flag.keys)


def lost_flags(case: Case) -> tuple[NormFlag, ...]:
    """Groups that lie complete in the files and are not switched on."""
    if case.draft_facts.kind != "eagle3" or case.draft.gguf:
        return ()
    return tuple(
        flag
        for flag in flags_of(case)
        if not is_on(case.draft.config, flag)
        and all(held(case, name) is not None for name in flag.tensors)
    )


def check(case: Case) -> Iterator[CheckFinding]:
    """Both directions, for each group."""
    if case.draft_facts.kind != "eagle3" or case.draft.gguf:
        return
    lost = lost_flags(case)
    for flag in flags_of(case):
        if flag in lost:
            yield _missing_flag(case, flag)
        absent = [name for name in flag.tensors if held(case, name) is None]
        if is_on(case.draft.config, flag) and absent:
            yield _missing_tensors(case, flag, absent)


def _missing_flag(case: Case, flag: NormFlag) -> CheckFinding:
    key = flag.keys[0]
    tensors = [tensor for name in flag.tensors if (tensor := held(case, name)) is not None]
    return CheckFinding(
        "norm-flag-missing",
        Harm.SILENT_LOSS,
        "draft",
        f"The files hold {some(t.name for t in tensors)}, and config.json does not set {key}.",
        (
            config_evidence(case.draft, key, case.draft.config.get(key)),
            *(tensor_evidence(case.draft, tensor) for tensor in tensors[:3]),
        ),
        (
            sglang(Harm.SILENT_LOSS, "passes over these weights; fc reads unnormalised states"),
            *_in_vllm(key),
            llama_cpp(Harm.CRASH, "the converter does not know these norms"),
        ),
        f"Set {key} to true; --fix does it.",
        fixable=True,
    )


def _in_vllm(key: str) -> tuple[Consequence, ...]:
    if key == "norm_before_fc":
        drops = "drops them without a word; fc reads unnormalised states"
        return (
            vllm(Harm.CRASH, "KeyError: 'input_norm.weight'", "<0.18"),
            vllm(Harm.SILENT_LOSS, drops, ">=0.18"),
        )
    return (
        vllm(Harm.CRASH, "KeyError: 'fc_norm.0.weight'", BY_KEY),
        vllm(Harm.CRASH, "There is no module or parameter named 'model.fc_norm'", BY_MODULE),
    )


def _missing_tensors(case: Case, flag: NormFlag, absent: list[str]) -> CheckFinding:
    key = next(key for key in flag.keys if _value(case.draft.config, key))
    text = "starts; the norms keep their initial weights of 1"
    return CheckFinding(
        "norm-tensor-missing",
        Harm.SILENT_LOSS,
        "draft",
        f"config.json sets {key}, and the files do not hold {some(absent)}.",
        (
            config_evidence(case.draft, key, _value(case.draft.config, key)),
            Evidence("file", f"{case.draft.path}: no {absent[0]}"),
        ),
        (
            sglang(Harm.SILENT_LOSS, text),
            vllm(Harm.SILENT_LOSS, text),
            llama_cpp(Harm.CRASH, "the converter does not know these norms"),
        ),
        f"Remove {key} if the drafter was trained without these norms, or export them.",
    )


def _value(config: Mapping[str, Any], key: str) -> object:
    return config.get(key) or inner(config, "eagle_config").get(key)
