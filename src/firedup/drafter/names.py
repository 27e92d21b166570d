"""Names of models: whether two of them can mean the same weights."""

from __future__ import annotations

import re

# What a repack of the same weights adds to the name, and what a maker puts before it.
_REPACKED = frozenset(
    {
        "meta",
        "awq",
        "gptq",
        "fp8",
        "fp4",
        "int4",
        "int8",
        "w4a16",
        "w8a8",
        "w4a8",
        "nvfp4",
        "mxfp4",
        "bf16",
        "fp16",
        "quantized",
        "quant",
        "dynamic",
        "gguf",
        "mlx",
        "hf",
        "channel",
        "block",
        "marlin",
        "bnb",
        "4bit",
        "8bit",
        "g32",
        "g128",
        "asym",
        "sym",
    }
)
FAMILIES = frozenset(
    {
        "kimi",
        "llama",
        "qwen",
        "deepseek",
        "glm",
        "gpt",
        "mistral",
        "mixtral",
        "gemma",
        "phi",
        "minimax",
        "ling",
        "ring",
        "hunyuan",
        "step",
        "granite",
        "nemotron",
        "command",
        "olmo",
        "exaone",
        "internlm",
        "yi",
        "baichuan",
        "ernie",
        "seed",
        "mimo",
    }
)


def model_name(path: str) -> str:
    """The name of a model out of a folder, a file or a repository id."""
    parts = [part for part in re.split(r"[/\\]", path.rpartition(":")[2]) if part]
    for part in parts:
        if part.startswith("models--"):  # the hub's cache: models--ORG--NAME/snapshots/…
            return part.rpartition("--")[2]
    return parts[-1] if parts else ""


def words_of(name: str) -> tuple[str, ...]:
    """A name as comparable words: lower case, letters and digits apart, repacks left out."""
    plain = re.sub(r"\.(gguf|safetensors)$", "", name.lower())
    words = [word for word in re.split(r"[^a-z0-9]+", plain) if word and word not in _REPACKED]
    return tuple(part for word in words for part in re.findall(r"[a-z]+|[0-9]+", word))


def family_of(name: str) -> str | None:
    """The family that a name belongs to, None for names such as `target`."""
    return next((word for word in words_of(name) if word in FAMILIES), None)


def can_be_same(left: str, right: str) -> bool | None:
    """Whether both names can mean the same weights; None where one of them says too little."""
    families = family_of(left), family_of(right)
    if None in families:
        return None
    return words_of(left) == words_of(right) if families[0] == families[1] else False
