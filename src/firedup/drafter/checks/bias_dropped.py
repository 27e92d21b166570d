"""The drafter has biases that engines do not read.

SGLang has a bias for fc if the config says `bias`, and one for o_proj if it says `bias` or
`attention_bias`; it passes over all others without a word. vLLM reads those of attention from 0.16
on if the config says `attention_bias`; of others 0.25 and later pass over them, and earlier
versions end with a KeyError. What was trained with them is served without.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from firedup.core.checked import CheckFinding, Consequence, Harm
from firedup.drafter.case import Case
from firedup.drafter.checks.tensor_unknown import BY_KEY, BY_MODULE
from firedup.drafter.expected import expected_tensors, held, layer_config
from firedup.drafter.tell import config_evidence, llama_cpp, sglang, some, tensor_evidence, vllm

ID = "bias-not-read"


def check(case: Case) -> Iterator[CheckFinding]:
    """Biases that are there and are not zero throughout."""
    expected = expected_tensors(case)
    if expected is None or case.draft_facts.kind != "eagle3" or case.draft.gguf:
        return
    tensors = {
        name: tensor
        for name in expected.optional
        if name.endswith(".bias") and (tensor := held(case, name)) is not None
        if any(case.samples.small.get(name, (1.0,)))
    }
    if not tensors:
        return
    config = layer_config(case.draft)
    in_sglang = [name for name in tensors if _in_sglang(name, config)]
    yield CheckFinding(
        ID,
        Harm.SILENT_LOSS,
        "draft",
        f"The drafter was trained with {some(one.name for one in tensors.values())}.",
        (
            *(tensor_evidence(case.draft, tensor) for tensor in list(tensors.values())[:4]),
            *(config_evidence(case.draft, key, config.get(key)) for key in _FLAGS),
        ),
        (
            sglang(Harm.SILENT_LOSS, _LOST)
            if not set(tensors) <= set(in_sglang)
            else sglang(Harm.NOTE, "reads them"),
            *_in_vllm(tensors, config),
            llama_cpp(Harm.CRASH, "the converter does not know them"),
        ),
        "Serve it with an engine that reads them, or train without biases.",
    )


_FLAGS = ("bias", "attention_bias")
_LOST = "drops them without a word"


def _has(config: Mapping[str, Any], *keys: str) -> bool:
    return any(config.get(key) is True for key in keys)


def _in_sglang(name: str, config: Mapping[str, Any]) -> bool:
    if name == "fc.bias":
        return _has(config, "bias")
    return name.endswith("o_proj.bias") and _has(config, *_FLAGS)


def _in_vllm(names: Iterable[str], config: Mapping[str, Any]) -> Iterator[Consequence]:
    """Version by version; a bias for o_proj is as old as the drafter's layer itself."""
    outer = [one for one in names if one.endswith("o_proj.bias") and _has(config, *_FLAGS)]
    inner = [one for one in names if _IN_QKV.search(one) and _has(config, "attention_bias")]
    others = [one for one in names if one not in outer and one not in inner]
    if inner and not others:
        yield vllm(Harm.CRASH, f"KeyError: '{_stacked(inner[0])}'", "<0.16")
        yield vllm(Harm.NOTE, "reads the biases of attention", ">=0.16")
    elif others:
        yield vllm(Harm.CRASH, f"KeyError: '{_stacked(others[0])}'", BY_KEY)
        yield vllm(Harm.SILENT_LOSS, _LOST, BY_MODULE)
    else:
        yield vllm(Harm.NOTE, "reads them")


_IN_QKV = re.compile(r"\.[qkv]_proj\.bias$")


def _stacked(name: str) -> str:
    """The name that vLLM looks for: it holds q, k and v in one."""
    return _IN_QKV.sub(".qkv_proj.bias", name)
