"""Which tensors an EAGLE drafter must and may have, with their shapes, going by its config."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from firedup.drafter.case import Case, DraftFacts
from firedup.drafter.checkpoint import Checkpoint, Tensor

Shape = tuple[int | None, ...]  # None: the config does not say
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
    """`required` and `optional` tensors by canonical name."""

    required: Mapping[str, Shape]
    optional: Mapping[str, Shape]

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


def whole_number(config: Mapping[str, Any], key: str) -> int | None:
    """A positive integer of a config, None when there is none."""
    value = config.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def streams_of(case: Case) -> int:
    """How many hidden states of the target fc reads, going by the drafter's config."""
    said = whole_number(case.draft.config, "num_aux_hidden_states")
    return said or len(case.draft_facts.layer_ids or ()) or DEFAULT_STREAMS


def expected_tensors(case: Case) -> Expected | None:
    """What the drafter must hold, None for kinds that are loaded like any model."""
    facts = case.draft_facts
    if facts.kind == "eagle3":
        return _eagle3(case)
    return _eagle(facts) if facts.kind == "eagle" else None


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
    is_narrow = facts.target_hidden == case.target_facts.hidden != hidden
    (required if is_narrow and facts.target_hidden else optional)["embed_tokens.weight"] = (vocab, hidden)
    for number in range(min(facts.layers or 1, 64)):
        prefix = f"layers.{number}."
        first = 2 * hidden if hidden and not number else hidden
        required |= _layer(facts, config, prefix, first)
        optional |= _layer_extras(facts, prefix)
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


def _eagle(facts: DraftFacts) -> Expected:
    hidden, vocab = facts.hidden, facts.vocab
    required: dict[str, Shape] = {"fc.weight": (hidden, 2 * hidden if hidden else None)}
    optional: dict[str, Shape] = {"fc.bias": (hidden,), "norm.weight": (hidden,)}
    optional |= {"embed_tokens.weight": (vocab, hidden), "lm_head.weight": (vocab, hidden)}
    optional |= {"enorm.weight": (hidden,), "hnorm.weight": (hidden,)}
    for number in range(min(facts.layers or 1, 64)):
        prefix = f"layers.{number}."
        layer = _attention(facts, prefix, hidden) | _mlp(facts, prefix)
        layer[f"{prefix}post_attention_layernorm.weight"] = (hidden,)
        required |= layer
        optional |= _layer_extras(facts, prefix)
        optional[f"{prefix}input_layernorm.weight"] = (hidden,)
    return Expected(required, optional)


def _layer(
    facts: DraftFacts, config: Mapping[str, Any], prefix: str, first: int | None
) -> dict[str, Shape]:
    attention = _latent(facts, config, prefix, first) if facts.is_mla else None
    layer = attention or _attention(facts, prefix, first)
    layer |= _mlp(facts, prefix)
    for norm in ("input_layernorm", "post_attention_layernorm"):
        layer[f"{prefix}{norm}.weight"] = (facts.hidden,)
    return layer


def _attention(facts: DraftFacts, prefix: str, first: int | None) -> dict[str, Shape]:
    at = f"{prefix}self_attn."
    width = _times(facts.heads, facts.head_dim)
    shared = _times(facts.kv_heads or facts.heads, facts.head_dim)
    return {
        f"{at}q_proj.weight": (width, first),
        f"{at}k_proj.weight": (shared, first),
        f"{at}v_proj.weight": (shared, first),
        f"{at}o_proj.weight": (facts.hidden, width),
    }


def _latent(
    facts: DraftFacts, config: Mapping[str, Any], prefix: str, first: int | None
) -> dict[str, Shape]:
    at = f"{prefix}self_attn."
    heads = facts.heads
    q, kv = whole_number(config, "q_lora_rank"), whole_number(config, "kv_lora_rank")
    nope = whole_number(config, "qk_nope_head_dim")
    rope = whole_number(config, "qk_rope_head_dim")
    value = whole_number(config, "v_head_dim")
    query = _times(heads, _plus(nope, rope))
    tensors: dict[str, Shape] = {
        f"{at}kv_a_proj_with_mqa.weight": (_plus(kv, rope), first),
        f"{at}kv_a_layernorm.weight": (kv,),
        f"{at}kv_b_proj.weight": (_times(heads, _plus(nope, value)), kv),
        f"{at}o_proj.weight": (facts.hidden, _times(heads, value)),
    }
    if q is None:
        return tensors | {f"{at}q_proj.weight": (query, first)}
    return tensors | {
        f"{at}q_a_proj.weight": (q, first),
        f"{at}q_a_layernorm.weight": (q,),
        f"{at}q_b_proj.weight": (query, q),
    }


def _mlp(facts: DraftFacts, prefix: str) -> dict[str, Shape]:
    wide, hidden = facts.intermediate, facts.hidden
    return {
        f"{prefix}mlp.gate_proj.weight": (wide, hidden),
        f"{prefix}mlp.up_proj.weight": (wide, hidden),
        f"{prefix}mlp.down_proj.weight": (hidden, wide),
    }


def _layer_extras(facts: DraftFacts, prefix: str) -> dict[str, Shape]:
    at = f"{prefix}self_attn."
    width = _times(facts.heads, facts.head_dim)
    shared = _times(facts.kv_heads or facts.heads, facts.head_dim)
    biases: dict[str, Shape] = {
        f"{at}q_proj.bias": (width,),
        f"{at}k_proj.bias": (shared,),
        f"{at}v_proj.bias": (shared,),
        f"{at}o_proj.bias": (facts.hidden,),
        f"{at}q_norm.weight": (None,),
        f"{at}k_norm.weight": (None,),
    }
    return biases


def _times(left: int | None, right: int | None) -> int | None:
    return left * right if left and right else None


def _plus(left: int | None, right: int | None) -> int | None:
    return left + right if left and right else None
