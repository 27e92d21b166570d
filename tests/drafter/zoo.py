"""Tiny checkpoints that are right: a pair for each layout that producers of drafters write.

Made from seeded numbers with the standard library alone. A drafter's head rows are noisy copies
of the target's rows of the same tokens, as training makes them; other weights are one pattern.
"""

from __future__ import annotations

import copy
import json
import random
import struct
from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

HIDDEN, VOCAB, DRAFT_VOCAB, LAYERS = 32, 192, 64, 8
HEADS, KV_HEADS, HEAD_DIM, WIDTH = 4, 2, 8, 48
END, TURN = 1, 5  # ids of the tokens that end a text and a turn
NOISE = 0.3
BYTES = {"BF16": 2, "F16": 2, "F32": 4, "I64": 8, "I32": 4, "BOOL": 1, "I8": 1, "F8_E4M3": 1}
PATTERN = struct.pack("<8H", 0x3C12, 0xBC41, 0x3B90, 0xBCA0, 0x3CC3, 0xBB11, 0x3C77, 0xBC05)

Config = dict[str, Any]


@dataclass(frozen=True)
class Raw:
    """A tensor as it lies in a file."""

    dtype: str
    shape: tuple[int, ...]
    data: bytes


@dataclass
class Model:
    """A checkpoint in memory. `files` beside it: JSON values, or text, or bytes as they are."""

    config: Config
    tensors: dict[str, Raw]
    files: dict[str, Any] = field(default_factory=dict)
    shards: int = 1
    folder: str = "model"
    cut: list[str] = field(default_factory=list)  # files of which only half is written
    absent: list[str] = field(default_factory=list)  # files that are not written


@dataclass
class Pair:
    """A target and its drafter, and the engines with versions in which nothing is wrong."""

    target: Model
    draft: Model
    engines: tuple[tuple[str, str], ...]

    def copy(self) -> Pair:
        """A pair of its own, to be changed."""
        return copy.deepcopy(self)


def bf16(values: Iterable[float]) -> bytes:
    """Floats as BF16: the upper halves of F32."""
    return array("H", array("f", values).tobytes())[1::2].tobytes()


def weights(*shape: int, dtype: str = "BF16") -> Raw:
    """Small finite numbers that nobody looks at."""
    size = BYTES[dtype]
    for length in shape:
        size *= length
    return Raw(dtype, shape, (PATTERN * (size // len(PATTERN) + 1))[:size])


def norm(size: int = HIDDEN, seed: int = 7) -> Raw:
    """The weights of a norm that was trained: about 1."""
    draw = random.Random(seed)
    return Raw("BF16", (size,), bf16(draw.uniform(0.6, 1.4) for _ in range(size)))


@cache
def token_rows(role: str) -> tuple[tuple[float, ...], ...]:
    """The target's rows of all tokens, of the embedding ("embed") or the head ("head")."""
    draw = random.Random(role)
    return tuple(tuple(draw.gauss(0, 0.5) for _ in range(HIDDEN)) for _ in range(VOCAB))


def matrix(rows: Iterable[Iterable[float]]) -> Raw:
    """Rows as a BF16 tensor."""
    all_rows = [tuple(row) for row in rows]
    return Raw("BF16", (len(all_rows), HIDDEN), bf16(x for row in all_rows for x in row))


@cache
def draft_ids(seed: int = 3) -> tuple[int, ...]:
    """The tokens that a drafter knows, ascending; the ends of texts and turns are among them."""
    others = [i for i in range(VOCAB) if i not in {END, TURN}]
    return tuple(sorted({END, TURN, *random.Random(seed).sample(others, DRAFT_VOCAB - 2)}))


def head_rows(ids: Iterable[int], noise: float = NOISE) -> list[list[float]]:
    """The rows of a drafter's head: the target's rows of the tokens `ids`, and noise."""
    draw = random.Random(11)
    rows = token_rows("head")
    return [[x + draw.gauss(0, noise) if noise else x for x in rows[i]] for i in ids]


def offsets(ids: Iterable[int]) -> Raw:
    """d2t as engines read it: what is to be added to a row's number."""
    return integers(i - row for row, i in enumerate(ids))


def integers(values: Iterable[int]) -> Raw:
    """A tensor of I64."""
    data = array("q", values)
    return Raw("I64", (len(data),), data.tobytes())


def mask(ids: Iterable[int]) -> Raw:
    """t2d: true for each token that the drafter knows."""
    known = set(ids)
    return Raw("BOOL", (VOCAB,), bytes(i in known for i in range(VOCAB)))


@cache
def _tokenizer_text() -> str:
    special = {0: "<|begin|>", END: "<|end|>", 2: "<|pad|>", TURN: "<|end_of_turn|>"}
    vocab = {special.get(i, f"t{i}"): i for i in range(VOCAB)}
    added = [{"id": i, "content": text, "special": True} for i, text in special.items()]
    model = {"type": "BPE", "vocab": vocab, "merges": []}
    return json.dumps({"version": "1.0", "added_tokens": added, "model": model})


def tokenizer() -> dict[str, Any]:
    """The files of a tokenizer with all tokens, and a chat template that ends turns."""
    template = "{% for m in messages %}{{ m.content }}<|end_of_turn|>{% endfor %}"
    config = {"eos_token": "<|end|>", "chat_template": template}
    return {"tokenizer.json": json.loads(_tokenizer_text()), "tokenizer_config.json": config}


def llama_layer(prefix: str, *, first: int = HIDDEN) -> dict[str, Raw]:
    """A decoder layer; `first` is the width of what its attention reads."""
    attention, mlp = f"{prefix}self_attn.", f"{prefix}mlp."
    return {
        f"{attention}q_proj.weight": weights(HEADS * HEAD_DIM, first),
        f"{attention}k_proj.weight": weights(KV_HEADS * HEAD_DIM, first),
        f"{attention}v_proj.weight": weights(KV_HEADS * HEAD_DIM, first),
        f"{attention}o_proj.weight": weights(HIDDEN, HEADS * HEAD_DIM),
        **mlp_and_norms(prefix, mlp),
    }


def mlp_and_norms(prefix: str, mlp: str) -> dict[str, Raw]:
    """The rest of a layer."""
    return {
        f"{mlp}gate_proj.weight": weights(WIDTH, HIDDEN),
        f"{mlp}up_proj.weight": weights(WIDTH, HIDDEN),
        f"{mlp}down_proj.weight": weights(HIDDEN, WIDTH),
        f"{prefix}input_layernorm.weight": norm(seed=1),
        f"{prefix}post_attention_layernorm.weight": norm(seed=2),
    }


MLA = {
    "q_lora_rank": 24,
    "kv_lora_rank": 16,
    "qk_nope_head_dim": 8,
    "qk_rope_head_dim": 4,
    "v_head_dim": 8,
}


def mla_layer(prefix: str, *, first: int = HIDDEN) -> dict[str, Raw]:
    """A decoder layer with multi-head latent attention."""
    at = f"{prefix}self_attn."
    q, kv, nope, rope, v = MLA.values()
    return {
        f"{at}q_a_proj.weight": weights(q, first),
        f"{at}q_a_layernorm.weight": norm(q, seed=3),
        f"{at}q_b_proj.weight": weights(HEADS * (nope + rope), q),
        f"{at}kv_a_proj_with_mqa.weight": weights(kv + rope, first),
        f"{at}kv_a_layernorm.weight": norm(kv, seed=4),
        f"{at}kv_b_proj.weight": weights(HEADS * (nope + v), kv),
        f"{at}o_proj.weight": weights(HIDDEN, HEADS * v),
        **mlp_and_norms(prefix, f"{prefix}mlp."),
    }


def llama_config(architecture: str, layers: int, **more: Any) -> Config:
    """What a Llama's config.json says, of a target or of a drafter."""
    config = {
        "architectures": [architecture],
        "model_type": "llama",
        "hidden_size": HIDDEN,
        "intermediate_size": WIDTH,
        "num_hidden_layers": layers,
        "num_attention_heads": HEADS,
        "num_key_value_heads": KV_HEADS,
        "head_dim": HEAD_DIM,
        "vocab_size": VOCAB,
        "max_position_embeddings": 4096,
        "rms_norm_eps": 1e-6,
        "rope_theta": 10000.0,
        "hidden_act": "silu",
        "bos_token_id": 0,
        "eos_token_id": END,
        "tie_word_embeddings": False,
        "torch_dtype": "bfloat16",
    }
    return config | more


def mla_config(architecture: str, layers: int, **more: Any) -> Config:
    """What a DeepSeek's config.json says."""
    config = llama_config(architecture, layers, model_type="deepseek_v3", **MLA)
    config["num_key_value_heads"] = HEADS
    del config["head_dim"]
    return config | {"n_routed_experts": 4, "num_experts_per_tok": 2} | more


def write(model: Model, folder: Path) -> Path:
    """Write the files of `model` into `folder`, which is made."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in {**_weight_files(model), **_other_files(model)}.items():
        if name not in model.absent:
            whole = len(data) // 2 if name in model.cut else len(data)
            (folder / name).write_bytes(data[:whole])
    return folder


def _other_files(model: Model) -> dict[str, bytes]:
    files = {}
    for name, content in {"config.json": model.config, **model.files}.items():
        text = content if isinstance(content, str | bytes) else json.dumps(content)
        files[name] = text.encode() if isinstance(text, str) else text
    return files


def _weight_files(model: Model) -> dict[str, bytes]:
    if model.shards == 1:
        return {"model.safetensors": safetensors(model.tensors)}
    files: dict[str, bytes] = {}
    weight_map: dict[str, str] = {}
    names = list(model.tensors)
    for shard in range(model.shards):
        part = {name: model.tensors[name] for name in names[shard :: model.shards]}
        file = f"model-{shard + 1:05}-of-{model.shards:05}.safetensors"
        files[file] = safetensors(part)
        weight_map |= dict.fromkeys(part, file)
    index = {"metadata": {"total_size": 0}, "weight_map": weight_map}
    return files | {"model.safetensors.index.json": json.dumps(index).encode()}


def safetensors(tensors: dict[str, Raw]) -> bytes:
    """A file with `tensors`, in their order."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    at = 0
    for name, raw in tensors.items():
        end = at + len(raw.data)
        header[name] = {"dtype": raw.dtype, "shape": list(raw.shape), "data_offsets": [at, end]}
        at = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return b"".join([struct.pack("<Q", len(text)), text, *(raw.data for raw in tensors.values())])


def write_pair(pair: Pair, folder: Path) -> tuple[Path, Path]:
    """Write both; returns the target's folder and the drafter's."""
    target = write(pair.target, folder / pair.target.folder)
    return target, write(pair.draft, folder / pair.draft.folder)
