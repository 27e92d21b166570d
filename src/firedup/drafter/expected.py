"""Which tensors a drafter must and may have, with their shapes, going by its config."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from firedup.drafter.case import Case, DraftFacts
from firedup.drafter.checkpoint import Checkpoint, Tensor
from firedup.drafter.layershape import (
    Shape,
    attention,
    latent,
    layer,
    layer_extras,
    mlp,
    whole_number,
)

DEFAULT_STREAMS = 3
# What quantised checkpoints hold in place of a weight.
PACKED = ("weight_packed", "qweight", "weight_quantized")
# Companions of quantised weights, and tables that every loader passes over.
BENIGN = re.compile(
    r"rotary_emb\.|[._](scale|scales|weight_scale|input_scale|scale_inv|weight_scale_inv|"
    r"zero_point|weight_zero_point|qzeros|qweight|g_idx|weight_shape|weight_packed)$"
)


@dataclass(frozen=True, slots=True)
class Expected:
    """`required` and `optional` tensors by canonical name; `is_open` = there may be others."""

    required: Mapping[str, Shape]
    optional: Mapping[str, Shape]
    is_open: bool = False

    def shape_of(self, name: str) -> Shape | None:
        """The shape that `name` must have, None when this drafter has no such tensor."""
        return self.required.get(name, self.optional.get(name))


def layer_config(draft: Checkpoint) -> Mapping[str, Any]:
    """The part of the config that describes the decoder layer: nested in the speculators format."""
    nested = draft.config.get("transformer_layer_config")
    return nested if isinstance(nested, Mapping) else draft.config


def held(case: Case, name: str) -> Tensor | None:
    """The drafter's tensor of this canonical name, None when it has none."""
    return case.draft.tensors.get(case.draft_facts.names.get(name, ""))


def is_split(case: Case, name: str) -> bool:
    """Whether a weight lies there in a quantised form, under names of its own."""
    stem = name.removesuffix("weight")
    return any(f"{stem}{part}" in case.draft_facts.names for part in PACKED)


def streams_of(case: Case) -> int:
    """How many hidden states of the target fc reads, going by the drafter's config."""
    said = whole_number(case.draft.config, "num_aux_hidden_states")
    return said or len(case.draft_facts.layer_ids or ()) or DEFAULT_STREAMS


def expected_tensors(case: Case) -> Expected | None:
    """What the drafter must hold, None for kinds of which nothing is known."""
    facts = case.draft_facts
    if facts.kind == "eagle3":
        return _eagle3(case)
    if facts.kind == "eagle":
        return _eagle(facts)
    if facts.kind == "mtp":
        return _mtp(case)
    return _model(case) if facts.kind == "draft-model" else None


def _eagle3(case: Case) -> Expected:
    facts, config = case.draft_facts, layer_config(case.draft)
    hidden, vocab = facts.hidden, facts.vocab
    draft_vocab = facts.draft_vocab or vocab
    from_target = facts.target_hidden or hidden
    streams = streams_of(case)
    joined = streams * from_target if from_target else None
    required: dict[str, Shape] = {"fc.weight": (hidden, joined), "norm.weight": (hidden,)}
    optional: dict[str, Shape] = {"fc.bias": (hidden,)}
    # The target's embedding is of no use to a drafter of another width.
    width = facts.target_hidden
    is_narrow = width is not None and width == case.target_facts.hidden != hidden
    (required if is_narrow else optional)["embed_tokens.weight"] = (vocab, hidden)
    for number in range(min(facts.layers or 1, 64)):
        prefix = f"layers.{number}."
        first = 2 * hidden if hidden and not number else hidden
        required |= layer(facts, config, prefix, first)
        optional |= layer_extras(facts, prefix)
        if not number:
            required[f"{prefix}hidden_norm.weight"] = (hidden,)
    is_reduced = bool(draft_vocab and vocab and draft_vocab < vocab)
    is_tied = config.get("tie_word_embeddings") is True or facts.draft_vocab is None
    (optional if is_tied and not is_reduced else required)["lm_head.weight"] = (draft_vocab, hidden)
    (required if is_reduced else optional)["d2t"] = (draft_vocab,)
    optional["t2d"] = (vocab,)
    optional |= {f"fc_norm.{i}.weight": (from_target,) for i in range(streams)}
    optional |= {f"aux_norm_{place}.weight": (from_target,) for place in ("low", "mid", "high")}
    optional |= {"input_norm.weight": (joined,), "mask_hidden": (1, joined)}
    return Expected(required, optional)


def _mtp(case: Case) -> Expected | None:
    """What belongs to each layer that joins embedding and hidden state, DeepSeek's or Qwen's."""
    facts, config = case.draft_facts, layer_config(case.draft)
    hidden = facts.hidden
    joins = [name for name in facts.names if name.endswith(JOINS)]
    if not joins or case.draft.gguf:
        return None
    required: dict[str, Shape] = {}
    optional: dict[str, Shape] = {}
    for name in joins:
        required[name] = (hidden, 2 * hidden if hidden else None)
        stem = name.removesuffix("weight").rpartition(".")[0].rpartition(".")[0]
        if not name.endswith(JOINS[0]):
            required |= {f"{stem}.pre_fc_norm_{one}.weight": (hidden,) for one in _READ}
            continue
        required |= {f"{stem}.{one}.weight": (hidden,) for one in ("enorm", "hnorm")}
        optional[f"{stem}.shared_head.norm.weight"] = (hidden,)
        optional |= {f"{stem}.{one}.weight": (facts.vocab, hidden) for one in _LENT}
        if facts.is_mla:
            required |= latent(facts, config, f"{stem}.", hidden)
    return Expected(required, optional, is_open=True)


# The tensor that joins a hidden state and an embedding: DeepSeek's name and Qwen's.
JOINS = (".eh_proj.weight", "mtp.fc.weight")
_READ = ("embedding", "hidden")
_LENT = ("embed_tokens", "shared_head.head")


def _model(case: Case) -> Expected | None:
    """A model that drafts by itself: what Llamas and their kin have in their first and last layer.

    None for models that are not built so.
    """
    facts, config = case.draft_facts, layer_config(case.draft)
    is_kin = facts.architecture in LLAMAS and "layers.0.self_attn.q_proj.weight" in facts.names
    if not is_kin or not facts.layers or case.draft.gguf:
        return None
    hidden, vocab = facts.hidden, facts.vocab
    required: dict[str, Shape] = {"norm.weight": (hidden,)}
    optional: dict[str, Shape] = {"lm_head.weight": (vocab, hidden)}
    required["embed_tokens.weight"] = (vocab, hidden)
    for number in {0, facts.layers - 1}:
        prefix = f"layers.{number}."
        required |= layer(facts, config, prefix, hidden)
        optional |= layer_extras(facts, prefix)
    if config.get("tie_word_embeddings") is False:
        required["lm_head.weight"] = optional.pop("lm_head.weight")
    return Expected(required, optional, is_open=True)


# Whose layers hold what a Llama's does, and maybe more.
LLAMAS = frozenset(
    {
        "LlamaForCausalLM",
        "MistralForCausalLM",
        "Qwen2ForCausalLM",
        "Qwen3ForCausalLM",
        "SmolLM3ForCausalLM",
        "GraniteForCausalLM",
        "GemmaForCausalLM",
        "Gemma2ForCausalLM",
    }
)


def _eagle(facts: DraftFacts) -> Expected:
    hidden, vocab = facts.hidden, facts.vocab
    required: dict[str, Shape] = {"fc.weight": (hidden, 2 * hidden if hidden else None)}
    optional: dict[str, Shape] = {"fc.bias": (hidden,), "norm.weight": (hidden,)}
    optional |= {"embed_tokens.weight": (vocab, hidden), "lm_head.weight": (vocab, hidden)}
    optional |= {"enorm.weight": (hidden,), "hnorm.weight": (hidden,)}
    for number in range(min(facts.layers or 1, 64)):
        prefix = f"layers.{number}."
        tensors = attention(facts, prefix, hidden) | mlp(facts, prefix)
        tensors[f"{prefix}post_attention_layernorm.weight"] = (hidden,)
        required |= tensors
        optional |= layer_extras(facts, prefix)
        optional[f"{prefix}input_layernorm.weight"] = (hidden,)
    return Expected(required, optional)
