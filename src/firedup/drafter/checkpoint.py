"""A checkpoint as its headers and small files describe it, without its weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Tensor:
    """One tensor of a file: `dtype` as safetensors names it, bytes `begin` to `end` of `file`."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    file: str
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class Group:
    """Tensors whose names differ in numbers alone: `pattern` has `*` for each of them."""

    pattern: str  # model.layers.*.mlp.experts.*.up_proj.weight_packed
    dtype: str
    shape: tuple[int, ...]
    count: int


@dataclass(frozen=True, slots=True)
class Damage:
    """A file that is not what it must be, and why: missing, short, a pointer, not readable."""

    file: str
    why: str


@dataclass(frozen=True, slots=True)
class TokenizerFacts:
    """What tells two tokenizers apart: `digest` is of all tokens, `blocks` of 1,024 ids each.

    `tokens` are id → text: those of the first block that differs from the other checkpoint's, and
    none where the two are equal or cannot be compared.
    """

    kind: str  # "tokenizer.json", "tiktoken.model", "tokenizer.model", "gguf"
    digest: str  # SHA-256 of the vocabulary in its order, not of the file's layout
    size: int
    special: Mapping[str, int] = field(default_factory=dict)  # text → id
    blocks: Mapping[int, str] = field(default_factory=dict)  # number → digest
    tokens: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """`config` and `extra` are parsed JSON files (`extra` by file name; config.json is `config`).

    `extra["README.md"]` has `base_model` alone, a list, and `base_model_relation` where it is said.
    `unread` are files that were not looked at though nothing shows them to be wrong: pickles, files
    that the index leaves out. `doubts` are about files that an engine may take as they are: tensors
    of the index that are not in its file.

    `tensors` holds every tensor of a small checkpoint; of one with more than a few thousand, those
    whose names carry no number beside the layers first and last. `groups` holds them all, folded.
    `tensor_bytes` is the sum over all. `gguf` is the metadata of a GGUF file, else empty.
    """

    path: str  # as the user wrote it
    host: str  # its name, "" for this machine
    config: Mapping[str, Any]
    tensors: Mapping[str, Tensor]
    groups: tuple[Group, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)
    tokenizer: TokenizerFacts | None = None
    damages: tuple[Damage, ...] = ()
    gguf: Mapping[str, Any] = field(default_factory=dict)
    tensor_bytes: int = 0
    tensor_count: int = 0
    unread: tuple[Damage, ...] = ()
    doubts: tuple[Damage, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)  # of the safetensors headers
    files: tuple[str, ...] = ()  # those whose tensors are known
