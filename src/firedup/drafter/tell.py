"""How checks put facts into words: tensors, config keys, files, and what an engine does."""

from __future__ import annotations

from collections.abc import Iterable

from firedup.core.checked import Consequence, Harm
from firedup.core.model import Evidence
from firedup.drafter.checkpoint import Checkpoint, Tensor

# Keys of config.json, and those of a GGUF file's metadata for a model of some architecture.
_GGUF_KEYS = {
    "architectures": ("general.architecture",),
    "hidden_size": ("{}.embedding_length",),
    "target_hidden_size": ("{}.target_hidden_size",),
    "num_hidden_layers": ("{}.block_count",),
    "vocab_size": ("{}.vocab_size", "tokenizer.ggml.tokens"),
    "max_position_embeddings": ("{}.context_length",),
    "rope_theta": ("{}.rope.freq_base",),
    "num_attention_heads": ("{}.attention.head_count",),
    "num_key_value_heads": ("{}.attention.head_count_kv",),
    "kv_lora_rank": ("{}.attention.kv_lora_rank",),
}
SHOWN = 4  # of a list; the rest is counted


def shape_text(shape: Iterable[int]) -> str:
    """As torch prints it: [64, 32]."""
    return f"[{', '.join(map(str, shape))}]"


def file_of(checkpoint: Checkpoint, name: str) -> str:
    """Where a file of `checkpoint` lies, in the words of the user."""
    path = checkpoint.path.rstrip("/") or "/"
    if not name:
        return path
    return path if path.endswith(f"/{name}") or path == name else f"{path}/{name}"


def tensor_evidence(checkpoint: Checkpoint, tensor: Tensor, more: str = "") -> Evidence:
    """One tensor: file, name, shape, dtype, and what else there is to say of it."""
    about = f"{tensor.name} {shape_text(tensor.shape)} {tensor.dtype}"
    text = f"{file_of(checkpoint, tensor.file)}: {about}"
    return Evidence("file", f"{text}: {more}" if more else text)


def config_evidence(checkpoint: Checkpoint, key: str, value: object) -> Evidence:
    """One key of config.json and its value; None = it is not there, or says nothing of use.

    Of a GGUF file it is the key of its metadata that says the same.
    """
    if isinstance(value, bool):
        value = str(value).lower()  # as JSON has it
    stored = checkpoint.config.get(key) if value is None else None
    if stored is not None:
        said = f"is {stored!r:.60}, which says nothing"
    else:
        said = "is not there" if value is None else f"is {value}"
    return Evidence("file", f"{config_of(checkpoint)}: {_key_of(checkpoint, key)} {said}")


def config_of(checkpoint: Checkpoint) -> str:
    """The file that says what the model is: config.json, or the GGUF file itself."""
    name = checkpoint.files[0] if checkpoint.gguf and checkpoint.files else "config.json"
    return file_of(checkpoint, name)


def _key_of(checkpoint: Checkpoint, key: str) -> str:
    named = str(checkpoint.gguf.get("general.architecture", "")) if checkpoint.gguf else ""
    keys = [one.format(named) for one in _GGUF_KEYS.get(key, ())] if named else []
    return next((one for one in keys if one in checkpoint.gguf), keys[0] if keys else key)


def some(items: Iterable[object]) -> str:
    """The first few of a list, and how many more there are."""
    listed = [str(item) for item in items]
    more = len(listed) - SHOWN
    return ", ".join(listed[:SHOWN]) + (f" and {more} more" if more > 0 else "")


def under(names: Iterable[str]) -> str:
    """The first few of many names, without the beginning that all share, which is told once."""
    listed = list(names)
    begin = min(listed, default="")
    while begin and not all(name.startswith(begin) for name in listed):
        begin = begin.rstrip(".").rpartition(".")[0]
        begin += "." * bool(begin)
    if len(listed) < 2 or not begin.endswith("."):
        return f": {some(listed)}"
    return f" under {begin.rstrip('.')}: {some(name.removeprefix(begin) for name in listed)}"


def sglang(harm: Harm, text: str, versions: str = "") -> Consequence:
    """What SGLang does."""
    return Consequence("sglang", versions, harm, text)


def vllm(harm: Harm, text: str, versions: str = "") -> Consequence:
    """What vLLM does."""
    return Consequence("vllm", versions, harm, text)


def llama_cpp(harm: Harm, text: str, versions: str = "") -> Consequence:
    """What llama.cpp does, or its converter to GGUF."""
    return Consequence("llama-cpp", versions, harm, text)


def everywhere(harm: Harm, text: str) -> tuple[Consequence, ...]:
    """What all engines do alike."""
    return sglang(harm, text), vllm(harm, text), llama_cpp(harm, text)
