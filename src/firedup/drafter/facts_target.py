"""A target's checkpoint → what matters of its text model, nested or not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from firedup.drafter.case import TargetFacts
from firedup.drafter.checkpoint import Checkpoint
from firedup.drafter.config import architecture, inner, text, whole

_NESTED = ("text_config", "llm_config", "language_config", "thinker_config")
_EMBED = ("embed_tokens.weight", "wte.weight", "word_embeddings.weight", "token_embd.weight")
_HEAD = ("lm_head.weight", "embed_out.weight", "output.weight")
_SPLIT_HEAD = ("lm_head.weight_packed", "lm_head.qweight", "lm_head.weight_quantized")


def target_facts(target: Checkpoint) -> TargetFacts:
    """What the config, the names and the headers of `target` say."""
    if target.gguf:
        return _gguf_facts(target)
    config = target.config
    language = text_config(config)
    tied = language.get("tie_word_embeddings", config.get("tie_word_embeddings"))
    return TargetFacts(
        architecture=architecture(config),
        model_type=text(config, "model_type") or "",
        hidden=whole(language, "hidden_size", "n_embd", "d_model"),
        layers=whole(language, "num_hidden_layers", "n_layer", "num_layers"),
        vocab=whole(language, "vocab_size", "padded_vocab_size"),
        max_positions=whole(language, "max_position_embeddings", "n_positions", "seq_length"),
        quantization=quantization_of(target),
        is_mla=bool(whole(language, "kv_lora_rank")),
        is_multimodal=language is not config or bool(inner(config, "vision_config")),
        embed_name=find_tensor(target, _EMBED),
        head_name=find_tensor(target, _HEAD if tied is not True else ())
        or find_tensor(target, _SPLIT_HEAD),
    )


def text_config(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """The part that describes the text model; `config` itself when nothing is nested."""
    nested = inner(config, *_NESTED)
    if inner(nested, *_NESTED):  # a thinker with a text model of its own
        nested = inner(nested, *_NESTED)
    return nested or config


def quantization_of(checkpoint: Checkpoint) -> str | None:
    """The name of the method by which its weights are quantised, None when they are not."""
    for config in (checkpoint.config, text_config(checkpoint.config)):
        method = text(inner(config, "quantization_config", "compression_config"), "quant_method")
        if method:
            return method
    producer = inner(checkpoint.extra, "hf_quant_config.json")
    if text(inner(producer, "quantization"), "quant_algo"):
        return "modelopt"
    if inner(checkpoint.extra, "quantize_config.json"):
        return "gptq"
    return "awq" if inner(checkpoint.extra, "quant_config.json") else None


def find_tensor(checkpoint: Checkpoint, endings: Iterable[str]) -> str | None:
    """The tensor whose name ends so, without a number in it: the shortest such name."""
    for ending in endings:
        found = [
            name
            for name in checkpoint.tensors
            if (name == ending or name.endswith(f".{ending}"))
            and not any(part.isdigit() for part in name.split("."))
        ]
        if found:
            return min(found, key=lambda name: (len(name), name))
    return None


def _gguf_facts(target: Checkpoint) -> TargetFacts:
    about, name = target.gguf, gguf_architecture(target)
    return TargetFacts(
        architecture=name,
        model_type=name,
        hidden=whole(about, f"{name}.embedding_length"),
        layers=whole(about, f"{name}.block_count"),
        vocab=whole(about, f"{name}.vocab_size", "tokenizer.ggml.tokens"),
        max_positions=whole(about, f"{name}.context_length"),
        quantization=None,
        is_mla=bool(whole(about, f"{name}.attention.kv_lora_rank")),
        embed_name=find_tensor(target, _EMBED),
        head_name=find_tensor(target, _HEAD),
    )


def gguf_architecture(checkpoint: Checkpoint) -> str:
    """What a GGUF file says it holds; its other keys begin with that word."""
    return text(checkpoint.gguf, "general.architecture") or ""
