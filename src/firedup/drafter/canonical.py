"""The names of a drafter's tensors in one form, whoever wrote them: `layers.0.…`, no prefix."""

from __future__ import annotations

from collections.abc import Mapping

from firedup.drafter.checkpoint import Checkpoint

# Names that llama.cpp's converter gives → those of Hugging Face.
_GGUF = {
    "token_embd.weight": "embed_tokens.weight",
    "output.weight": "lm_head.weight",
    "output_norm.weight": "norm.weight",
}
_GGUF_LAYER = {
    "attn_norm.weight": "input_layernorm.weight",
    "attn_norm_2.weight": "hidden_norm.weight",
    "ffn_norm.weight": "post_attention_layernorm.weight",
    "attn_q.weight": "self_attn.q_proj.weight",
    "attn_k.weight": "self_attn.k_proj.weight",
    "attn_v.weight": "self_attn.v_proj.weight",
    "attn_output.weight": "self_attn.o_proj.weight",
    "ffn_gate.weight": "mlp.gate_proj.weight",
    "ffn_up.weight": "mlp.up_proj.weight",
    "ffn_down.weight": "mlp.down_proj.weight",
}


def canonical_names(draft: Checkpoint) -> Mapping[str, str]:
    """Canonical name → name in the file. Where two tensors claim one name, the plain one has it."""
    names: dict[str, str] = {}
    for name in sorted(draft.tensors, key=lambda name: (name.startswith("model."), name)):
        names.setdefault(_from_gguf(name) if draft.gguf else canonical_name(name), name)
    return names


def canonical_name(name: str) -> str:
    """`model.midlayer.x` → `layers.0.x`; a name that is none of ours stays as it is."""
    plain = name.removeprefix("model.")
    if plain.startswith("midlayer."):
        return f"layers.0.{plain.removeprefix('midlayer.')}"
    return plain


def _from_gguf(name: str) -> str:
    if name.startswith("blk."):
        number, _, rest = name.removeprefix("blk.").partition(".")
        return f"layers.{number}.{_GGUF_LAYER.get(rest, rest)}"
    return _GGUF.get(name, name)
