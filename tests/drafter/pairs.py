"""Pairs written by hand, without files: what a check that looks at configs and flags needs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from firedup.core.checked import CheckFinding
from firedup.drafter.case import Case
from firedup.drafter.checkpoint import Checkpoint, Tensor
from firedup.drafter.facts_draft import draft_facts
from firedup.drafter.facts_target import target_facts
from firedup.drafter.judge import judge
from firedup.drafter.launch import read_launch

LLAMA: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 64,
    "num_hidden_layers": 32,
    "num_attention_heads": 4,
    "vocab_size": 256,
    "max_position_embeddings": 8192,
    "rope_theta": 500000.0,
    "torch_dtype": "bfloat16",
}
KIMI: dict[str, Any] = {
    "architectures": ["KimiK25ForConditionalGeneration"],
    "model_type": "kimi_k25",
    "text_config": {
        **LLAMA,
        "architectures": ["DeepseekV3ForCausalLM"],
        "model_type": "kimi_k2",
        "num_hidden_layers": 61,
        "kv_lora_rank": 16,
    },
}
EAGLE3: dict[str, Any] = {
    **LLAMA,
    "architectures": ["LlamaForCausalLMEagle3"],
    "num_hidden_layers": 1,
    "draft_vocab_size": 128,
}
IDS = "eagle_aux_hidden_state_layer_ids"


def pair(
    target: dict[str, Any] = LLAMA,
    draft: dict[str, Any] = EAGLE3,
    *,
    engine: str | None = None,
    version: str | None = None,
    command: str = "",
    path: str = "/models/target",
    **more: Any,
) -> Case:
    """A case of two configs; `more` are keys of the drafter's config."""
    named = {
        "d2t": Tensor("d2t", "I64", (128,), "model.safetensors", 0, 1024),
        "fc.weight": Tensor("fc.weight", "BF16", (64, 192), "model.safetensors", 1024, 25600),
    }
    one = Checkpoint(path, "", target, {})
    other = Checkpoint("/models/draft", "", {**draft, **more}, named, tensor_bytes=2_400_000_000)
    return Case(
        one,
        other,
        target_facts(one),
        replace(draft_facts(other)),
        engine,
        version,
        read_launch(command),
    )


def found(case: Case, ident: str) -> CheckFinding | None:
    """The finding of this id, weighed as the program does it."""
    return next((one for one in judge(case)[0] if one.id == ident), None)


def harm_of(case: Case, ident: str) -> str | None:
    """The harm of the finding of this id, None when there is none."""
    finding = found(case, ident)
    return finding.harm.value if finding else None
