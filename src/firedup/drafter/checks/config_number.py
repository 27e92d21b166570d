"""A size in config.json is no possible size.

Sizes are whole numbers of one or more. Engines multiply and divide by them, or allocate by them,
before anything is loaded. Keys that some models give per layer may be lists. A size that is
possible is compared with the columns of the checkpoint's own lm_head.weight.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from firedup.core.checked import CheckFinding, Harm
from firedup.core.model import Evidence
from firedup.drafter.case import Case
from firedup.drafter.checkpoint import Checkpoint, Tensor
from firedup.drafter.config import inner, whole
from firedup.drafter.facts_target import text_config
from firedup.drafter.tell import config_evidence, everywhere, file_of, tensor_evidence

ID = "config-number"
_SIZES = (
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
    "head_dim",
    "intermediate_size",
    "vocab_size",
    "max_position_embeddings",
    "draft_vocab_size",
    "target_hidden_size",
)
_PER_LAYER = {"num_attention_heads", "num_key_value_heads", "intermediate_size"}
_ZERO = {"num_key_value_heads", "intermediate_size", "head_dim"}  # where there is no such part
_MOST = 1 << 40
_FLOATS = {"BF16", "F16", "F32"}
_SHOWN = 60


def check(case: Case) -> Iterator[CheckFinding]:
    """One finding for each checkpoint that has such keys."""
    pairs = (
        ("target", case.target, case.target.tensors.get(case.target_facts.head_name or "")),
        ("draft", case.draft, _draft_tensor(case)),
    )
    for subject, checkpoint, tensor in pairs:
        wrong = [*_impossible(checkpoint.config)]
        if wrong:
            yield _impossible_finding(subject, checkpoint, tensor, wrong)
        elif subject == "target" and tensor is not None:
            yield from _unlike(case, tensor)


def _draft_tensor(case: Case) -> Tensor | None:
    names, tensors = case.draft_facts.names, case.draft.tensors
    found = (tensors.get(names.get(name, "")) for name in ("fc.weight", "lm_head.weight"))
    return next((tensor for tensor in found if tensor is not None), None)


def _impossible(config: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(key, value as it is told) of each size that is none."""
    language, layer = text_config(config), inner(config, "transformer_layer_config")
    places = {id(place): place for place in (config, language, layer)}
    for place in places.values():
        for key in _SIZES:
            value = place.get(key)
            if value is not None and not _is_size(key, value):
                told = repr(value)
                yield key, told if len(told) <= _SHOWN else f"{told[:_SHOWN]}…"


def _is_size(key: str, value: object) -> bool:
    if isinstance(value, list) and key in _PER_LAYER:
        return bool(value) and all(one is None or _is_size(key, one) for one in value)
    number = whole({key: value}, key)
    return number is not None and (0 if key in _ZERO else 1) <= number <= _MOST


def _impossible_finding(
    subject: str, checkpoint: Checkpoint, tensor: Tensor | None, wrong: list[tuple[str, str]]
) -> CheckFinding:
    whose = "target" if subject == "target" else "drafter"
    named = ", ".join(f"{key} {told}" for key, told in wrong)
    verb = "is no possible size" if len(wrong) == 1 else "are no possible sizes"
    file = file_of(checkpoint, "config.json")
    evidence = [Evidence("file", f"{file}: {key} is {told}") for key, told in wrong]
    if tensor is not None:
        evidence.append(tensor_evidence(checkpoint, tensor))
    return CheckFinding(
        ID,
        Harm.CRASH,
        subject,
        f"In the {whose}'s config.json {named} {verb}.",
        tuple(evidence),
        everywhere(Harm.CRASH, "the model cannot be built with this config"),
        "Download config.json again, or write the sizes that the tensors have.",
    )


def _unlike(case: Case, head: Tensor) -> Iterator[CheckFinding]:
    said = case.target_facts.hidden
    is_plain = head.name.endswith("lm_head.weight") and head.dtype in _FLOATS
    if case.target.gguf or not is_plain or len(head.shape) != 2 or said in {None, head.shape[1]}:
        return
    yield CheckFinding(
        ID,
        Harm.CRASH,
        "target",
        f"The target's config.json says hidden_size {said:,}, its head has {head.shape[1]:,}.",
        (config_evidence(case.target, "hidden_size", said), tensor_evidence(case.target, head)),
        everywhere(Harm.CRASH, "the weights do not fit the model that the config describes"),
        "Download config.json again, or write the sizes that the tensors have.",
    )
