"""How checks put facts into words: tensors, config keys, files, and what an engine does."""

from __future__ import annotations

from collections.abc import Iterable

from firedup.core.checked import Consequence, Harm
from firedup.core.model import Evidence
from firedup.drafter.checkpoint import Checkpoint, Tensor

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
    """One key of config.json and its value; None = it is not there, or says nothing of use."""
    if isinstance(value, bool):
        value = str(value).lower()  # as JSON has it
    stored = checkpoint.config.get(key) if value is None else None
    if stored is not None:
        said = f"is {stored!r:.60}, which says nothing"
    else:
        said = "is not there" if value is None else f"is {value}"
    return Evidence("file", f"{file_of(checkpoint, 'config.json')}: {key} {said}")


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
