"""A drafter's checkpoint → its kind, what it expects of a target, and what its tensors are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from firedup.drafter.canonical import canonical_names
from firedup.drafter.case import DraftFacts
from firedup.drafter.checkpoint import Checkpoint
from firedup.drafter.config import architecture, inner, integers, text, whole
from firedup.drafter.facts_target import gguf_architecture, text_config
from firedup.drafter.producer import guess_producer

_IDS = "eagle_aux_hidden_state_layer_ids"
_ID_KEYS = (
    (_IDS,),
    ("eagle_config", _IDS),
    ("transformer_layer_config", _IDS),
    ("aux_hidden_state_layer_ids",),
    ("target_layer_ids",),
)
_MADE_FOR = (
    "target_model_name_or_path",
    "target_model",
    "verifier_name_or_path",
    "base_model_name_or_path",
    "base_model",
)


def draft_facts(draft: Checkpoint) -> DraftFacts:
    """What the config, the names and the headers of `draft` say."""
    names = canonical_names(draft)
    if draft.gguf:
        return _gguf_facts(draft, names)
    config = draft.config
    layer = inner(config, "transformer_layer_config") or text_config(config)
    kind = _kind(draft, names)
    producer, why = guess_producer(draft, names) if kind in ("eagle3", "eagle") else (None, "")
    hidden, heads = whole(layer, "hidden_size", "n_embd"), whole(layer, "num_attention_heads")
    is_mla = bool(whole(layer, "kv_lora_rank")) or any("kv_a_proj_with_mqa" in n for n in names)
    ids, key = _layer_ids(config)
    return DraftFacts(
        kind=kind,
        producer=producer,
        producer_why=why,
        architecture=architecture(config),
        hidden=hidden,
        target_hidden=whole(config, "target_hidden_size"),
        layers=whole(layer, "num_hidden_layers", "n_layer"),
        vocab=whole(layer, "vocab_size") or whole(config, "vocab_size"),
        draft_vocab=whole(config, "draft_vocab_size"),
        heads=heads,
        kv_heads=whole(layer, "num_key_value_heads") or heads,
        head_dim=whole(layer, "head_dim") or _share(hidden, heads, is_mla=is_mla),
        intermediate=whole(layer, "intermediate_size"),
        max_positions=whole(layer, "max_position_embeddings"),
        is_mla=is_mla,
        layer_ids=ids,
        layer_ids_key=key,
        made_for=_made_for(draft) if kind in ("eagle3", "eagle", "mtp") else None,
        names=names,
    )


def _share(hidden: int | None, heads: int | None, *, is_mla: bool) -> int | None:
    """What engines take where head_dim is not said."""
    return hidden // heads if hidden and heads and not is_mla else None


def _kind(draft: Checkpoint, names: Mapping[str, str]) -> str:
    config = draft.config
    said = (text(config, "speculators_model_type") or "").lower()
    name = f"{architecture(config)} {text(config, 'model_type') or ''}".lower()
    if "eagle3" in said.replace("-", "") or said == "peagle":
        return "eagle3"
    if "eagle3" in name or _has_eagle3_parts(draft, names):
        return "eagle3"
    if "eagle" in said or "eagle" in name:
        return "eagle"
    fc, hidden = draft.tensors.get(names.get("fc.weight", "")), whole(config, "hidden_size")
    if fc is not None and len(fc.shape) == 2 and hidden and fc.shape[1] == 2 * hidden:
        return "eagle"
    is_mtp = "mtp" in said or "nextn" in name or "mtp" in name.replace("smtp", "")
    if is_mtp or any(".eh_proj." in f".{n}" or n.startswith("mtp.") for n in draft.tensors):
        return "mtp"
    has_layers = whole(text_config(config), "num_hidden_layers", "n_layer")
    return "draft-model" if has_layers and name.strip() and not said else "unknown"


def _has_eagle3_parts(draft: Checkpoint, names: Mapping[str, str]) -> bool:
    """What only an EAGLE-3 drafter has."""
    config = draft.config
    if any(name in names for name in ("d2t", "t2d")):
        return True
    if config.get("draft_vocab_size") is not None or inner(config, "eagle_config"):
        return True
    if any(name.startswith("midlayer.") for name in draft.tensors):
        return True
    fc, hidden = draft.tensors.get(names.get("fc.weight", "")), whole(config, "hidden_size")
    return bool(fc is not None and len(fc.shape) == 2 and hidden and fc.shape[1] >= 3 * hidden)


def _layer_ids(config: Mapping[str, Any]) -> tuple[tuple[int, ...] | None, str | None]:
    """The ids of the layers that feed fc, and the dotted path of the key that says them."""
    for path in _ID_KEYS:
        place = inner(config, path[0]) if len(path) > 1 else config
        ids = integers(place.get(path[-1]))
        if ids:
            return ids, ".".join(path)
    return None, None


def _made_for(draft: Checkpoint) -> str | None:
    verifier = inner(inner(draft.config, "speculators_config"), "verifier")
    named = text(verifier, "name_or_path") or text(draft.config, *_MADE_FOR)
    if named:
        return named
    bases = inner(draft.extra, "README.md").get("base_model")
    return str(bases[0]) if isinstance(bases, list) and bases else None


def _gguf_facts(draft: Checkpoint, names: Mapping[str, str]) -> DraftFacts:
    about, name = draft.gguf, gguf_architecture(draft)
    ids_key = next(
        (key for key in about if key.endswith((".target_layers", "extract_layers"))), None
    )
    heads = whole(about, f"{name}.attention.head_count")
    hidden = whole(about, f"{name}.embedding_length")
    head = draft.tensors.get(names.get("lm_head.weight", ""))
    is_eagle = name.startswith("eagle")
    return DraftFacts(
        kind=name if name in ("eagle3", "eagle") else "draft-model" if name else "unknown",
        producer=None,
        architecture=name,
        hidden=hidden,
        target_hidden=whole(about, f"{name}.target_hidden_size"),
        layers=whole(about, f"{name}.block_count"),
        vocab=whole(about, f"{name}.vocab_size", "tokenizer.ggml.tokens"),
        draft_vocab=head.shape[0] if is_eagle and head is not None and head.shape else None,
        heads=heads,
        kv_heads=whole(about, f"{name}.attention.head_count_kv") or heads,
        head_dim=whole(about, f"{name}.attention.key_length")
        or _share(hidden, heads, is_mla=False),
        intermediate=whole(about, f"{name}.feed_forward_length"),
        max_positions=whole(about, f"{name}.context_length"),
        layer_ids=integers(about[ids_key]) if ids_key else None,
        layer_ids_key=ids_key,
        names=names,
    )
