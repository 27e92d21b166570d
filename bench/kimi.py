"""Makes checkpoints laid out like Kimi-K2.5 INT4 and a drafter for it, as files full of holes."""

from __future__ import annotations

import base64
import json
import random
import struct
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from firedup.drafter.checkpoint import Tensor
from firedup.drafter.sample import count_rows, spread_rows

HIDDEN, VOCAB, DRAFT_VOCAB, LAYERS, HEADS = 7168, 163_840, 32_000, 61, 64
Q_RANK, KV_RANK, NOPE, ROPE, VALUE = 1536, 512, 128, 64, 128
DENSE, EXPERT, GROUP = 18_432, 2048, 32
SHARDS, RANKS = 64, 163_584  # tokens that are no special ones
_ITEM = {"BF16": 2, "F32": 4, "I32": 4, "I64": 8, "BOOL": 1}
_TEXT = {
    "model_type": "kimi_k2",
    "architectures": ["DeepseekV3ForCausalLM"],
    "hidden_size": HIDDEN,
    "intermediate_size": DENSE,
    "moe_intermediate_size": EXPERT,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "num_key_value_heads": HEADS,
    "q_lora_rank": Q_RANK,
    "kv_lora_rank": KV_RANK,
    "qk_nope_head_dim": NOPE,
    "qk_rope_head_dim": ROPE,
    "v_head_dim": VALUE,
    "n_routed_experts": 384,
    "num_experts_per_tok": 8,
    "vocab_size": VOCAB,
    "max_position_embeddings": 262_144,
    "rms_norm_eps": 1e-5,
    "rope_theta": 50_000.0,
    "tie_word_embeddings": False,
    "quantization_config": {"quant_method": "compressed-tensors", "format": "pack-quantized"},
}
_DRAFT = {
    "architectures": ["LlamaForCausalLMEagle3"],
    "model_type": "llama",
    "hidden_size": HIDDEN,
    "intermediate_size": DENSE,
    "num_hidden_layers": 1,
    "num_attention_heads": HEADS,
    "num_key_value_heads": HEADS,
    "head_dim": 128,
    "vocab_size": VOCAB,
    "draft_vocab_size": DRAFT_VOCAB,
    "max_position_embeddings": 262_144,
    "rms_norm_eps": 1e-6,
    "rope_theta": 1_000_000.0,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
    "eagle_config": {
        "eagle_aux_hidden_state_layer_ids": [2, 30, 58],
        "use_aux_hidden_state": True,
    },
}


@dataclass(frozen=True, slots=True)
class Made:
    """Where the two lie and how large they seem."""

    target: Path
    draft: Path
    apparent_bytes: int
    tensors: int


Entry = tuple[str, str, tuple[int, ...]]


def make_pair(folder: Path, experts: int = 384, layers: int = LAYERS) -> Made:
    """Both checkpoints under `folder`; fewer experts or layers for a small one."""
    draw = random.Random(6)
    ids = sorted(draw.sample(range(VOCAB), DRAFT_VOCAB))
    rows = {row: _row(draw) for row in spread_rows(DRAFT_VOCAB, count_rows(_head(DRAFT_VOCAB)))}
    target, draft = folder / "Kimi-K2.5", folder / "kimi-k25-eagle3"
    entries = list(_target_tensors(experts, layers))
    size = _write_target(target, entries, {ids[row]: data for row, data in rows.items()}, layers)
    size += _write_draft(draft, ids, rows, draw)
    return Made(target, draft, size, len(entries))


def _head(rows: int) -> Tensor:
    return Tensor("", "BF16", (rows, HIDDEN), "", 0, 0)


def _row(draw: random.Random) -> bytes:
    """A row of a head as training leaves it: what compresses badly."""
    return array("H", array("f", (draw.gauss(0, 0.02) for _ in range(HIDDEN))).tobytes())[
        1::2
    ].tobytes()


def _target_tensors(experts: int, layers: int) -> Iterator[Entry]:
    text = "language_model.model."
    yield "language_model.lm_head.weight", "BF16", (VOCAB, HIDDEN)
    yield f"{text}embed_tokens.weight", "BF16", (VOCAB, HIDDEN)
    yield f"{text}norm.weight", "BF16", (HIDDEN,)
    for layer in range(layers):
        at = f"{text}layers.{layer}."
        yield f"{at}input_layernorm.weight", "BF16", (HIDDEN,)
        yield f"{at}post_attention_layernorm.weight", "BF16", (HIDDEN,)
        yield from _attention(f"{at}self_attn.")
        if layer == 0:
            yield from _mlp(f"{at}mlp.", DENSE)
            continue
        yield f"{at}mlp.gate.weight", "BF16", (384, HIDDEN)
        yield f"{at}mlp.gate.e_score_correction_bias", "F32", (384,)
        yield from _mlp(f"{at}mlp.shared_experts.", EXPERT)
        for expert in range(experts):
            yield from _packed(f"{at}mlp.experts.{expert}.")
    for block in range(27):
        at = f"vision_tower.encoder.blocks.{block}."
        for name, shape in (
            ("wqkv", (3456, 1152)),
            ("wo", (1152, 1152)),
            ("mlp.fc0", (4304, 1152)),
        ):
            yield f"{at}{name}.weight", "BF16", shape
            yield f"{at}{name}.bias", "BF16", shape[:1]


def _attention(at: str) -> Iterator[Entry]:
    yield f"{at}q_a_proj.weight", "BF16", (Q_RANK, HIDDEN)
    yield f"{at}q_a_layernorm.weight", "BF16", (Q_RANK,)
    yield f"{at}q_b_proj.weight", "BF16", (HEADS * (NOPE + ROPE), Q_RANK)
    yield f"{at}kv_a_proj_with_mqa.weight", "BF16", (KV_RANK + ROPE, HIDDEN)
    yield f"{at}kv_a_layernorm.weight", "BF16", (KV_RANK,)
    yield f"{at}kv_b_proj.weight", "BF16", (HEADS * (NOPE + VALUE), KV_RANK)
    yield f"{at}o_proj.weight", "BF16", (HIDDEN, HEADS * VALUE)


def _mlp(at: str, wide: int) -> Iterator[Entry]:
    yield f"{at}gate_proj.weight", "BF16", (wide, HIDDEN)
    yield f"{at}up_proj.weight", "BF16", (wide, HIDDEN)
    yield f"{at}down_proj.weight", "BF16", (HIDDEN, wide)


def _packed(at: str) -> Iterator[Entry]:
    """The three matrices of an expert in INT4: eight values in each I32, a scale for 32."""
    for name, rows, columns in (
        ("gate_proj", EXPERT, HIDDEN),
        ("up_proj", EXPERT, HIDDEN),
        ("down_proj", HIDDEN, EXPERT),
    ):
        yield f"{at}{name}.weight_packed", "I32", (rows, columns // 8)
        yield f"{at}{name}.weight_scale", "BF16", (rows, columns // GROUP)
        yield f"{at}{name}.weight_shape", "I32", (2,)


def _write_target(folder: Path, entries: list[Entry], rows: dict[int, bytes], layers: int) -> int:
    folder.mkdir(parents=True)
    config = {
        "architectures": ["KimiK25ForConditionalGeneration"],
        "model_type": "kimi_k25",
        "media_placeholder_token_id": 163_605,
        "pad_token_id": 163_839,
        "text_config": _TEXT | {"num_hidden_layers": layers},
        "vision_config": {"vt_num_hidden_layers": 27, "vt_hidden_size": 1152},
    }
    (folder / "config.json").write_text(json.dumps(config))
    _write_tokenizer(folder)
    weight_map: dict[str, str] = {}
    size = 0
    for number in range(SHARDS):
        name = f"model-{number + 1:05}-of-{SHARDS:05}.safetensors"
        part = entries[number * len(entries) // SHARDS : (number + 1) * len(entries) // SHARDS]
        weight_map |= dict.fromkeys((entry[0] for entry in part), name)
        size += _write_sparse(folder / name, part, {"language_model.lm_head.weight": rows})
    index = {"metadata": {"total_size": size}, "weight_map": weight_map}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=2))
    return size


def _write_tokenizer(folder: Path) -> None:
    draw = random.Random(7)
    lines = [
        b"%s %d\n" % (base64.b64encode(struct.pack(">I", rank)[-3:] + draw.randbytes(2)), rank)
        for rank in range(RANKS)
    ]
    (folder / "tiktoken.model").write_bytes(b"".join(lines))
    added = {
        str(i): {"content": f"<|reserved_token_{i}|>", "special": True} for i in range(RANKS, VOCAB)
    }
    added["163586"] = {"content": "<|im_end|>", "special": True}
    config = {"added_tokens_decoder": added, "eos_token": "<|im_end|>", "model_max_length": 10**30}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))


def _write_draft(folder: Path, ids: list[int], rows: dict[int, bytes], draw: random.Random) -> int:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(_DRAFT))
    at, wide = "midlayer.self_attn.", HEADS * 128
    entries: list[Entry] = [
        ("d2t", "I64", (DRAFT_VOCAB,)),
        ("fc.weight", "BF16", (HIDDEN, 3 * HIDDEN)),
        ("lm_head.weight", "BF16", (DRAFT_VOCAB, HIDDEN)),
        *((f"{at}{name}_proj.weight", "BF16", (wide, 2 * HIDDEN)) for name in "qkv"),
        (f"{at}o_proj.weight", "BF16", (HIDDEN, wide)),
        *_mlp("midlayer.mlp.", DENSE),
        *((f"midlayer.{name}.weight", "BF16", (HIDDEN,)) for name in _NORMS),
        ("norm.weight", "BF16", (HIDDEN,)),
        ("t2d", "BOOL", (VOCAB,)),
    ]
    norms = {
        name: {0: array("H", (0x3F00 + draw.randrange(256) for _ in range(HIDDEN))).tobytes()}
        for name in (*(f"midlayer.{norm}.weight" for norm in _NORMS), "norm.weight")
    }
    known = set(ids)
    fc = {row: b"".join(_row(draw) for _ in range(3)) for row in spread_rows(HIDDEN, 4)}
    content = {
        "lm_head.weight": rows,
        "fc.weight": fc,
        "d2t": {0: array("q", (i - row for row, i in enumerate(ids))).tobytes()},
        "t2d": {0: bytes(i in known for i in range(VOCAB))},
        **norms,
    }
    return _write_sparse(folder / "model.safetensors", entries, content)


_NORMS = ("hidden_norm", "input_layernorm", "post_attention_layernorm")


def _write_sparse(
    path: Path, entries: Iterable[Entry], content: dict[str, dict[int, bytes]]
) -> int:
    """A file with a whole header and holes; `content` has rows by tensor and number."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    at, places = 0, []
    for name, dtype, shape in entries:
        size = _ITEM[dtype]
        for length in shape:
            size *= length
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + size]}
        places += [(at + row * len(data), data) for row, data in content.get(name, {}).items()]
        at += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for place, data in places:
            file.seek(8 + len(text) + place)
            file.write(data)
        file.truncate(8 + len(text) + at)
    return 8 + len(text) + at
