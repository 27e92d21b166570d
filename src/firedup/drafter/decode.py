"""What the agent tells of a checkpoint → `Checkpoint`, whatever it may be that was told."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import Any

from firedup.drafter.checkpoint import Checkpoint, Damage, Group, Tensor, TokenizerFacts


def decode_checkpoint(told: Mapping[str, Any], path: str, host: str = "") -> Checkpoint:
    """The checkpoint that `told` describes, which the user called `path` on `host`.

    A file of the folder that was read stands for that folder.
    """
    documents = dict(told["documents"])
    config = documents.pop("config.json", {})
    files = tuple(told["files"])
    tensors = {
        name: Tensor(name, dtype, tuple(shape), files[file], begin, end)
        for name, dtype, shape, file, begin, end in told["tensors"]
    }
    damages = [Damage(file, why) for file, why in told["damages"]]
    if not isinstance(config, Mapping):
        damages.append(Damage("config.json", "not a JSON object"))
        config = {}
    return Checkpoint(
        path=(posixpath.dirname(path) or ".") if told["is_beside"] else path,
        host=host,
        config=config,
        tensors=tensors,
        groups=tuple(Group(name, dtype, tuple(s), n) for name, dtype, s, n in told["groups"]),
        extra={name: value for name, value in documents.items() if isinstance(value, Mapping)},
        tokenizer=_decode_tokenizer(told["tokenizer"]),
        damages=tuple(damages),
        gguf=told["gguf"],
        tensor_bytes=told["tensor_bytes"],
        tensor_count=told["tensor_count"],
        unread=tuple(Damage(file, why) for file, why in told["unread"]),
        doubts=tuple(Damage(file, why) for file, why in told["doubts"]),
        metadata=told["metadata"],
        files=files,
    )


def _decode_tokenizer(told: Mapping[str, Any] | None) -> TokenizerFacts | None:
    if told is None:
        return None
    blocks = {int(number): str(digest) for number, digest in told["blocks"]}
    return TokenizerFacts(told["kind"], told["digest"], told["size"], told["special"], blocks)
