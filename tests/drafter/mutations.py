"""Drafters that are wrong in one thing each, with the finding that the fault must raise.

A mutation takes a good pair of the zoo and changes it. Some faults make others true as well: a
misnamed tensor is also a missing one; `also` are ids that may be found beside the one that must.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from firedup.core.checked import Harm
from tests.drafter.zoo import (
    DRAFT_VOCAB,
    END,
    HIDDEN,
    VOCAB,
    Model,
    Pair,
    Raw,
    bf16,
    draft_ids,
    head_rows,
    integers,
    llama_layer,
    mask,
    matrix,
    norm,
    offsets,
    token_rows,
    weights,
)
from tests.drafter.zoo_pairs import SGLANG, VLLM, good

Engine = tuple[str, str]
OLD_SGLANG = ("sglang", "0.5.11")


@dataclass(frozen=True)
class Mutation:
    """One fault: `finding` must be raised with `harm` when `pair` is checked for `engine`."""

    name: str
    pair: str
    change: Callable[[Pair], None]
    finding: str
    harm: Harm
    engine: Engine = SGLANG
    also: tuple[str, ...] = ()
    fixable: bool = False

    def apply(self) -> Pair:
        """The pair with the fault."""
        pair = good(self.pair).copy()
        self.change(pair)
        return pair


def _config(**keys: Any) -> Callable[[Pair], None]:
    """Set keys of the drafter's config; None removes one."""

    def change(pair: Pair) -> None:
        for key, value in keys.items():
            if value is None:
                pair.draft.config.pop(key)
            else:
                pair.draft.config[key] = value

    return change


def _put(name: str, raw: Raw | Callable[[], Raw]) -> Callable[[Pair], None]:
    def change(pair: Pair) -> None:
        pair.draft.tensors[name] = raw() if callable(raw) else raw

    return change


def _drop(*names: str) -> Callable[[Pair], None]:
    def change(pair: Pair) -> None:
        for name in names:
            del pair.draft.tensors[name]

    return change


def _rename(change_name: Callable[[str], str]) -> Callable[[Pair], None]:
    def change(pair: Pair) -> None:
        held = pair.draft.tensors
        pair.draft.tensors = {change_name(name): raw for name, raw in held.items()}

    return change


def _both(*changes: Callable[[Pair], None]) -> Callable[[Pair], None]:
    def change(pair: Pair) -> None:
        for one in changes:
            one(pair)

    return change


def _file(name: str, content: object) -> Callable[[Pair], None]:
    def change(pair: Pair) -> None:
        pair.draft.files[name] = content

    return change


def _stale_map(pair: Pair) -> None:
    """A map of another text, as fine-tuning leaves it beside the old head."""
    ids = draft_ids(seed=99)
    pair.draft.tensors |= {"d2t": offsets(ids), "t2d": mask(ids)}


def _no_end(pair: Pair) -> None:
    """A map of a text that never ends: another token has the place."""
    known = draft_ids()
    spare = next(i for i in range(END + 1, VOCAB) if i not in known)
    ids = sorted({*known, spare} - {END})
    pair.draft.tensors |= {"d2t": offsets(ids), "t2d": mask(ids)}
    pair.draft.tensors["lm_head.weight"] = matrix(head_rows(ids))


def _swapped(pair: Pair) -> None:
    ids = list(draft_ids())
    ids[10], ids[40] = ids[40], ids[10]
    pair.draft.tensors["d2t"] = offsets(ids)


def _doubled(pair: Pair) -> None:
    ids = list(draft_ids())
    ids[11] = ids[10]
    pair.draft.tensors["d2t"] = offsets(ids)


def _shifted(pair: Pair) -> None:
    """Each row stands for the token after its own."""
    ids = [(i + 1) % VOCAB for i in draft_ids()]
    pair.draft.tensors |= {"d2t": offsets(ids), "t2d": mask(ids)}


def _random_rows(seed: int) -> Raw:
    draw = random.Random(seed)
    return matrix([draw.gauss(0, 0.5) for _ in range(HIDDEN)] for _ in range(VOCAB))


def _other_copy(pair: Pair) -> None:
    """Head rows of a target that was trained further."""
    rows = [[x * 1.5 + 0.25 for x in token_rows("head")[i]] for i in draft_ids()]
    pair.draft.tensors["lm_head.weight"] = matrix(rows)


def _not_finite(pair: Pair) -> None:
    raw = pair.draft.tensors["norm.weight"]
    data = struct.pack("<H", 0x7FC0) + raw.data[2:]
    pair.draft.tensors["norm.weight"] = Raw(raw.dtype, raw.shape, data)


def _ones(pair: Pair) -> None:
    for name in [name for name in pair.draft.tensors if name.endswith("norm.weight")]:
        size = pair.draft.tensors[name].shape[0]
        pair.draft.tensors[name] = Raw("BF16", (size,), bf16([1.0] * size))


def _nested(**keys: Any) -> Callable[[Pair], None]:
    def change(pair: Pair) -> None:
        pair.draft.config["transformer_layer_config"] |= keys

    return change


def _verifier(name: str) -> Callable[[Pair], None]:
    def change(pair: Pair) -> None:
        pair.draft.config["speculators_config"]["verifier"]["name_or_path"] = name

    return change


def _other_tokens(pair: Pair) -> None:
    vocab = pair.draft.files["tokenizer.json"]["model"]["vocab"]
    vocab["t100"], vocab["t101"] = vocab["t101"], vocab["t100"]


def _cut(model: str, file: str) -> Callable[[Pair], None]:
    """Keep half of a file: as bytes written over the whole one afterwards."""

    def change(pair: Pair) -> None:
        part: Model = getattr(pair, model)
        part.cut.append(file)

    return change


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:abc\nsize 546160\n"
_LAYER = "midlayer.self_attn."
_ZERO = Raw("I64", (DRAFT_VOCAB,), bytes(8 * DRAFT_VOCAB))
_CRASH, _LOSS, _RISK, _NOTE = Harm.CRASH, Harm.SILENT_LOSS, Harm.RISK, Harm.NOTE
_E, _S, _T = "eagle-repository", "speculators", "torchspec"
_NAMES = ("tensor-unknown", "tensor-missing")

MUTATIONS = (
    Mutation("vocab-smaller", _E, _config(vocab_size=VOCAB - 8), "vocab-size-differs", _CRASH, VLLM,
             fixable=True),
    Mutation("vocab-larger", _E, _config(vocab_size=VOCAB + 8), "vocab-size-differs", _RISK, VLLM,
             also=("tensor-shape-wrong",), fixable=True),
    Mutation("plain-other-vocab", "plain", _config(vocab_size=VOCAB // 2), "vocab-size-differs",
             _CRASH, VLLM),
    Mutation("hidden-other", _E, _config(hidden_size=HIDDEN * 2), "hidden-size-differs", _CRASH,
             also=("tensor-shape-wrong",)),
    Mutation("target-hidden-other", _E, _config(target_hidden_size=HIDDEN // 2),
             "hidden-size-differs", _CRASH, also=("fc-width-wrong",)),
    Mutation("fc-two-streams", _E, _put("fc.weight", weights(HIDDEN, 2 * HIDDEN)),
             "fc-width-wrong", _CRASH),
    Mutation("fc-four-ids", _E,
             _config(eagle_config={"eagle_aux_hidden_state_layer_ids": [1, 2, 4, 5]}),
             "fc-width-wrong", _CRASH),
    Mutation("ids-at-the-top", "specforge",
             _config(eagle_config=None, eagle_aux_hidden_state_layer_ids=[0, 3, 6]),
             "layer-ids-not-read", _LOSS, fixable=True, also=("captured-layers-differ",)),
    Mutation("fc-missing", _E, _drop("fc.weight"), "tensor-missing", _LOSS),
    Mutation("q-missing", _E, _drop(f"{_LAYER}q_proj.weight"), "tensor-missing", _LOSS),
    Mutation("head-missing", _E, _drop("lm_head.weight"), "tensor-missing", _LOSS, VLLM),
    Mutation("latent-missing", _T, _drop("layers.0.self_attn.kv_b_proj.weight"), "tensor-missing",
             _LOSS),
    Mutation("prefix-foo", _E, _rename(lambda n: f"foo.{n}" if n.startswith("mid") else n),
             "tensor-missing", _LOSS, also=_NAMES, fixable=True),
    Mutation("prefix-all", _E, _rename(lambda n: f"draft.{n}"), "tensor-unknown", _CRASH, VLLM,
             also=(*_NAMES, "d2t-missing"), fixable=True),
    Mutation("prefix-model", _E, _rename(lambda n: f"model.{n}"), "tensor-unknown", _CRASH, VLLM,
             also=_NAMES, fixable=True),
    Mutation("misspelt", _E, _rename(lambda n: n.replace("q_proj", "query")), "tensor-unknown",
             _LOSS, also=_NAMES),
    Mutation("layer-by-number", _E, _rename(lambda n: n.replace("midlayer.", "layers.0.")),
             "layer-name-not-read", _LOSS, OLD_SGLANG, fixable=True),
    Mutation("q-narrow", _E, _put(f"{_LAYER}q_proj.weight", weights(HIDDEN, HIDDEN)),
             "tensor-shape-wrong", _CRASH),
    Mutation("down-transposed", _E, _put("midlayer.mlp.down_proj.weight", weights(48, HIDDEN)),
             "tensor-shape-wrong", _CRASH),
    Mutation("latent-narrow", _T, _put("layers.0.self_attn.q_a_proj.weight", weights(24, HIDDEN)),
             "tensor-shape-wrong", _CRASH),
    Mutation("intermediate-other", _E, _config(intermediate_size=64), "tensor-shape-wrong", _CRASH),
    Mutation("layers-two", _E, lambda pair: pair.draft.tensors.update(
        llama_layer("layers.1.")), "layer-count-differs", _CRASH, VLLM, also=_NAMES, fixable=True),
    Mutation("d2t-floats", _E, _put("d2t", weights(DRAFT_VOCAB, dtype="F32")), "d2t-not-integer",
             _CRASH),
    Mutation("t2d-integers", _E, _put("t2d", integers([1] * VOCAB)), "t2d-not-boolean", _NOTE,
             also=("t2d-differs",)),
    Mutation("weights-int8", _E, _put("fc.weight", weights(HIDDEN, 3 * HIDDEN, dtype="I8")),
             "tensor-dtype-wrong", _LOSS),
    Mutation("draft-vocab-wrong", _E, _config(draft_vocab_size=DRAFT_VOCAB // 2),
             "draft-vocab-size-wrong", _CRASH, also=("tensor-shape-wrong",), fixable=True),
    Mutation("draft-vocab-absent", _E, _config(draft_vocab_size=None), "draft-vocab-size-missing",
             _CRASH, fixable=True),
    Mutation("d2t-short", _E, lambda pair: pair.draft.tensors.update(d2t=offsets(draft_ids()[:40])),
             "draft-vocab-size-wrong", _CRASH, also=("t2d-differs",)),
    Mutation("d2t-ids", _E, _put("d2t", lambda: integers(draft_ids())), "d2t-absolute-ids", _LOSS,
             fixable=True),
    Mutation("d2t-ids-no-mask", "modelopt", _put("d2t", lambda: integers(draft_ids())),
             "d2t-absolute-ids", _LOSS, fixable=True),
    Mutation("d2t-outside", _E, _put("d2t", lambda: integers(
        i - row + (VOCAB if row == 50 else 0) for row, i in enumerate(draft_ids()))),
        "d2t-out-of-range", _CRASH, also=("d2t-not-ascending", "t2d-differs")),
    Mutation("d2t-swapped", _E, _swapped, "d2t-not-ascending", _RISK,
             also=("head-rows-do-not-fit",)),
    Mutation("d2t-doubled", _E, _doubled, "d2t-duplicates", _LOSS, also=("t2d-differs",)),
    Mutation("d2t-zeros", _E, _put("d2t", _ZERO), "d2t-never-filled", _LOSS, fixable=True),
    Mutation("d2t-zeros-alone", "modelopt", _put("d2t", _ZERO), "d2t-never-filled", _LOSS),
    Mutation("d2t-count", _E, _put("d2t", integers(range(DRAFT_VOCAB))), "d2t-never-filled", _LOSS,
             fixable=True),
    Mutation("d2t-missing", _E, _drop("d2t"), "d2t-missing", _LOSS, fixable=True),
    Mutation("maps-missing", _E, _drop("d2t", "t2d"), "d2t-missing", _LOSS, VLLM),
    Mutation("d2t-for-all", _T,
             _both(_put("d2t", Raw("I64", (VOCAB,), bytes(8 * VOCAB))),
                   _config(eagle_config={"eagle_aux_hidden_state_layer_ids": [2, 4, 5]})),
             "d2t-not-needed", _CRASH, VLLM, fixable=True),
    Mutation("t2d-other", _E, _put("t2d", lambda: mask(draft_ids(seed=99))), "t2d-differs", _RISK,
             fixable=True),
    Mutation("map-stale", _E, _stale_map, "head-rows-do-not-fit", _LOSS,
             also=("special-token-not-drafted",)),
    Mutation("map-stale-tied", "specforge", _stale_map, "head-rows-do-not-fit", _LOSS),
    Mutation("map-shifted", _E, _shifted, "head-rows-do-not-fit", _LOSS,
             also=("special-token-not-drafted",)),
    Mutation("head-not-copied", _S, _other_copy, "head-rows-not-copied", _LOSS, VLLM),
    Mutation("embed-random", _S, _put("embed_tokens.weight", lambda: _random_rows(5)),
             "embedding-differs", _LOSS, VLLM, also=("head-rows-copied",)),
    Mutation("embed-random-unused", _E, _put("embed_tokens.weight", lambda: _random_rows(5)),
             "embedding-differs", _NOTE),
    Mutation("norm-nan", _E, _not_finite, "values-not-finite", _LOSS),
    Mutation("norm-zero", _E, _put("norm.weight", Raw("BF16", (HIDDEN,), bytes(2 * HIDDEN))),
             "values-all-zero", _LOSS),
    Mutation("head-zero", _E, _put("lm_head.weight", Raw("BF16", (DRAFT_VOCAB, HIDDEN),
             bytes(2 * DRAFT_VOCAB * HIDDEN))), "values-all-zero", _LOSS),
    Mutation("norms-untrained", _E, _ones, "norms-never-trained", _RISK),
    Mutation("file-short", _E, _cut("draft", "model.safetensors"), "checkpoint-incomplete", _CRASH),
    Mutation("shard-short", _E, _cut("target", "model-00002-of-00004.safetensors"),
             "checkpoint-incomplete", _CRASH),
    Mutation("pointer", _E, _file("model.safetensors", POINTER), "lfs-pointer", _CRASH),
    Mutation("shard-missing", "two-shards", lambda pair: pair.draft.absent.append(
        "model-00002-of-00002.safetensors"), "checkpoint-incomplete", _CRASH,
        also=("tensor-missing", "d2t-missing")),
    Mutation("config-missing", _E, lambda pair: pair.draft.absent.append("config.json"),
             "config-missing", _CRASH),
    Mutation("config-empty", _E, _file("config.json", {}), "config-missing", _CRASH),
    Mutation("config-broken", _E, _file("config.json", "{"), "checkpoint-incomplete", _CRASH),
    Mutation("version-other", _S, _verifier("meta-llama/Llama-3-8B-Instruct"),
             "made-for-another-target", _RISK, VLLM, also=("head-rows-copied",)),
    Mutation("family-other", _S, _verifier("Qwen/Qwen3-8B"), "made-for-another-target", _RISK, VLLM,
             also=("head-rows-copied",)),
    Mutation("tokenizer-other", "plain", _other_tokens, "tokenizer-differs", _LOSS),
    Mutation("end-not-drafted", _E, _no_end, "special-token-not-drafted", _NOTE,
             also=("head-rows-do-not-fit",)),
    Mutation("norms-without-flag", _T, lambda pair: pair.draft.tensors.update(
        {f"fc_norm.{i}.weight": norm(seed=20 + i) for i in range(3)}), "norm-flag-missing", _LOSS,
        fixable=True),
    Mutation("input-norm-without-flag", _E, _put("input_norm.weight", lambda: norm(3 * HIDDEN)),
             "norm-flag-missing", _LOSS, VLLM, fixable=True),
    Mutation("flag-without-norms", _T, _config(fc_norm=True), "norm-tensor-missing", _LOSS),
    Mutation("fc-bias", _E, _put("fc.bias", weights(HIDDEN)), "bias-not-read", _LOSS, VLLM),
    Mutation("head-tied", _E, _config(tie_word_embeddings=True), "head-tied-to-embedding", _LOSS,
             fixable=True),
    Mutation("nested-vocab", _S, _nested(vocab_size=VOCAB - 8), "vocab-size-differs", _CRASH, VLLM,
             also=("head-rows-copied",), fixable=True),
)  # fmt: skip
