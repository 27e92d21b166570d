"""The tensors of one decoder layer with their shapes: plain attention, latent attention, MLP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from firedup.drafter.case import DraftFacts

Shape = tuple[int | None, ...]  # None: the config does not say


def whole_number(config: Mapping[str, Any], key: str) -> int | None:
    """A positive integer of a config, None when there is none."""
    value = config.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def layer(
    facts: DraftFacts, config: Mapping[str, Any], prefix: str, first: int | None
) -> dict[str, Shape]:
    """A decoder layer whose attention takes `first` columns; `prefix` ends with a dot."""
    is_latent = facts.is_mla
    tensors = latent(facts, config, prefix, first) if is_latent else attention(facts, prefix, first)
    tensors |= mlp(facts, prefix)
    for norm in ("input_layernorm", "post_attention_layernorm"):
        tensors[f"{prefix}{norm}.weight"] = (facts.hidden,)
    return tensors


def attention(facts: DraftFacts, prefix: str, first: int | None) -> dict[str, Shape]:
    """Plain attention of the layer at `prefix`, which takes `first` columns."""
    at = f"{prefix}self_attn."
    width = _times(facts.heads, facts.head_dim)
    shared = _times(facts.kv_heads or facts.heads, facts.head_dim)
    return {
        f"{at}q_proj.weight": (width, first),
        f"{at}k_proj.weight": (shared, first),
        f"{at}v_proj.weight": (shared, first),
        f"{at}o_proj.weight": (facts.hidden, width),
    }


def latent(
    facts: DraftFacts, config: Mapping[str, Any], prefix: str, first: int | None
) -> dict[str, Shape]:
    """Multi-head latent attention, as DeepSeek and Kimi have it."""
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


def mlp(facts: DraftFacts, prefix: str) -> dict[str, Shape]:
    """The dense part of the layer."""
    wide, hidden = facts.intermediate, facts.hidden
    return {
        f"{prefix}mlp.gate_proj.weight": (wide, hidden),
        f"{prefix}mlp.up_proj.weight": (wide, hidden),
        f"{prefix}mlp.down_proj.weight": (hidden, wide),
    }


def layer_extras(facts: DraftFacts, prefix: str) -> dict[str, Shape]:
    """Biases and norms of attention that a layer may have."""
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
