"""More faults: in the launch command beside the files, and those told by engine and version."""

from __future__ import annotations

import json
import struct

from firedup.core.checked import Harm
from tests.drafter.faults import (
    OLD_SGLANG,
    OLD_VLLM,
    Mutation,
    both,
    config,
    drop,
    nested,
    put,
)
from tests.drafter.zoo import HIDDEN, VOCAB, Pair, Raw, llama_layer, norm, weights
from tests.drafter.zoo_pairs import VLLM

_CRASH, _LOSS, _RISK, _NOTE = Harm.CRASH, Harm.SILENT_LOSS, Harm.RISK, Harm.NOTE
_E, _S, _T, _P, _M = "eagle-repository", "speculators", "torchspec", "plain", "mtp"
_IDS = "eagle_aux_hidden_state_layer_ids"
_DOUBLES = Raw("F64", (HIDDEN,), struct.pack(f"<{HIDDEN}d", *(1 + i / 64 for i in range(HIDDEN))))


def _same(_: Pair) -> None:
    """The files are right; the command is not."""


def _sglang(algorithm: str | None = "EAGLE3", *more: str, steps: bool = True) -> str:
    words = ["sglang serve --model-path {target} --speculative-draft-model-path {draft}"]
    words += [f"--speculative-algorithm {algorithm}"] if algorithm else []
    words += ["--speculative-num-steps 3 --speculative-eagle-topk 1"] if steps else []
    return " ".join((*words, *more))


def _vllm(**keys: object) -> str:
    whole = {"method": "eagle3", "model": "{draft}", "num_speculative_tokens": 3, **keys}
    given = json.dumps({key: value for key, value in whole.items() if value is not None})
    return f"vllm serve {{target}} --speculative-config '{given}'"


def _target_of_four(pair: Pair) -> None:
    pair.target.config["num_hidden_layers"] = 4


def _swap(pair: Pair) -> None:
    pair.target, pair.draft = pair.draft, pair.target


def _copy(pair: Pair) -> None:
    pair.draft = pair.target


def _index_promises_more(pair: Pair) -> None:
    names, shards = [*pair.target.tensors], pair.target.shards
    file = f"model-{{:05}}-of-{shards:05}.safetensors"
    where = {name: file.format(i % shards + 1) for i, name in enumerate(names)}
    where["model.layers.7.self_attn.q_norm.weight"] = file.format(1)
    pair.target.files["model.safetensors.index.json"] = {"weight_map": where}


def _half(pair: Pair) -> None:
    pair.draft.config["torch_dtype"] = "float16"


def _new_rope(pair: Pair) -> None:
    pair.draft.config.pop("rope_theta", None)
    pair.draft.config["rope_parameters"] = {"rope_theta": 1e6, "rope_type": "default"}


def _two_ropes(pair: Pair) -> None:
    pair.draft.config |= {"rope_theta": 1e4, "rope_parameters": {"rope_theta": 1e6}}


def _no_rope(pair: Pair) -> None:
    pair.draft.config.pop("rope_theta", None)
    pair.target.config["rope_theta"] = 1e6


def _short_context(pair: Pair) -> None:
    pair.target.config["max_position_embeddings"] = 8192
    pair.draft.config["max_position_embeddings"] = 2048


def _fp8(pair: Pair) -> None:
    name = "midlayer.mlp.up_proj.weight"
    shape = pair.draft.tensors[name].shape
    pair.draft.tensors[name] = weights(*shape, dtype="F8_E4M3")
    pair.draft.tensors[f"{name}_scale"] = weights(1, dtype="F32")


def _old_norms(pair: Pair) -> None:
    for number, place in enumerate(("low", "mid", "high")):
        pair.draft.tensors[f"aux_norm_{place}.weight"] = norm(seed=20 + number)
    pair.draft.config["fc_norm"] = True


def _attention_biases(pair: Pair) -> None:
    for name in [n for n in pair.draft.tensors if n.endswith(("q_proj.weight", "o_proj.weight"))]:
        size = pair.draft.tensors[name].shape[0]
        pair.draft.tensors[name.replace("weight", "bias")] = weights(size)
    pair.draft.config["attention_bias"] = True


MORE = (
    Mutation("eagle-for-eagle3", _E, _same, "algorithm-not-the-drafters", _LOSS,
             command=_sglang("EAGLE")),
    Mutation("no-algorithm", _E, _same, "drafter-without-algorithm", _LOSS,
             command=_sglang(None)),
    Mutation("no-steps", _E, _same, "draft-steps-not-given", _CRASH,
             command=_sglang("EAGLE3", "--speculative-eagle-topk 1", steps=False)),
    Mutation("tokens-adjusted", _E, _same, "draft-tokens-adjusted", _NOTE,
             command=_sglang("EAGLE3", "--speculative-num-draft-tokens 8")),
    Mutation("token-map", _E, _same, "token-map-ignored", _NOTE,
             command=_sglang("EAGLE3", "--speculative-token-map /m/hot.pt")),
    Mutation("no-drafter", _E, _same, "drafter-not-given", _CRASH,
             command="sglang serve --model-path {target} --speculative-algorithm EAGLE3"),
    Mutation("no-method", _E, _same, "method-not-named", _RISK, VLLM,
             command=_vllm(method=None)),
    Mutation("no-tokens", _E, _same, "draft-tokens-not-given", _CRASH, VLLM,
             command=_vllm(num_speculative_tokens=None)),
    Mutation("abbreviated", _E, _same, "flag-refused", _CRASH,
             command=_sglang("EAGLE3", "--speculative-num 4")),
    Mutation("misspelt-flag", _E, _same, "flag-unknown", _CRASH,
             command=_sglang("EAGLE3", "--speculativ-token-map x")),
    Mutation("inherits-quantization", _E, _same, "quantization-inherited", _CRASH,
             command=_sglang("EAGLE3", "--quantization fp8")),
    Mutation("inherits-attention", "llama-for-kimi", _same, "attention-backend-inherited", _CRASH,
             command=_sglang("EAGLE3", "--attention-backend flashmla")),
    Mutation("rejection-sampling", _E, _same, "rejection-sampling-with-draft-vocabulary", _CRASH,
             command=_sglang("EAGLE3", "--speculative-use-rejection-sampling")),
    Mutation("too-many-ranks", _E, _same, "heads-not-divisible", _CRASH,
             command=_sglang("EAGLE3", "--tp 3"), also=("drafter-memory",)),
    Mutation("memory", _E, _same, "drafter-memory", _NOTE, command=_sglang("EAGLE3", "--tp 2")),
    Mutation("steps-known", _E, _same, "break-even", _NOTE, command=_sglang()),
    Mutation("steps-known-moe", "llama-for-kimi", lambda pair: pair.target.config[
        "text_config"].update(n_routed_experts=384), "break-even", _NOTE, VLLM, command=_vllm()),
    Mutation("context-short", _E, _short_context, "drafter-context-too-short", _CRASH,
             command=_sglang()),
    Mutation("dtype-differs", _E, _half, "drafter-dtype-differs", _RISK, command=_sglang()),
    Mutation("size-negative", _E, config(num_attention_heads=-4), "config-number", _CRASH),
    Mutation("target-of-four", _E, _target_of_four, "layer-ids-collide", _CRASH,
             also=("layer-ids-out-of-range",)),
    Mutation("ids-outside", "specforge", config(eagle_config={_IDS: [1, 30, 58]}),
             "layer-ids-out-of-range", _CRASH),
    Mutation("no-default-norm", _S, lambda pair: pair.draft.config.pop("norm_before_residual"),
             "norm-flag-by-default", _RISK, VLLM, also=("head-rows-copied",)),
    Mutation("norm-not-honoured", _E, config(norm_before_residual=True), "norm-flag-not-honoured",
             _LOSS),
    Mutation("norms-old-names", _E, _old_norms, "norm-name-not-read", _CRASH, VLLM, fixable=True),
    Mutation("d2t-for-all-old", _T, both(put("d2t", Raw("I64", (VOCAB,), bytes(8 * VOCAB))),
             config(eagle_config={_IDS: [2, 4, 5]})), "d2t-not-needed", _NOTE, OLD_VLLM,
             fixable=True),
    Mutation("rope-new", _E, _new_rope, "rope-parameters-not-read", _LOSS, ("sglang", "0.5.9"),
             also=("layer-name-not-read",)),
    Mutation("rope-twice", _E, _two_ropes, "rope-theta-differs", _RISK),
    Mutation("rope-none", _E, _no_rope, "rope-theta-missing", _RISK),
    Mutation("index-stale", _E, _index_promises_more, "index-differs", _RISK),
    Mutation("same-model", _P, _copy, "same-model", _RISK),
    Mutation("swapped-places", _E, _swap, "target-is-drafter", _CRASH),
    Mutation("two-layers-old", _E, both(config(num_hidden_layers=2), lambda pair:
             pair.draft.tensors.update(llama_layer("layers.1."))), "several-layers", _CRASH,
             OLD_SGLANG),
    Mutation("no-weights", _E, lambda pair: pair.draft.absent.append("model.safetensors"),
             "weights-not-found", _CRASH),
    Mutation("four-streams-old", _E, both(config(eagle_config={_IDS: [1, 2, 4, 5]}),
             put("fc.weight", weights(HIDDEN, 4 * HIDDEN))), "streams-not-three", _CRASH,
             OLD_SGLANG),
    # What else is told by version, and of models that draft by themselves.
    Mutation("bias-old-vllm", _E, put("fc.bias", weights(HIDDEN)), "bias-not-read", _CRASH,
             OLD_VLLM),
    Mutation("bias-of-attention", _E, _attention_biases, "bias-not-read", _NOTE, VLLM),
    Mutation("bias-of-attention-sglang", _E, _attention_biases, "bias-not-read", _LOSS),
    Mutation("d2t-floats-vllm", _E, lambda pair: pair.draft.tensors.update(
        d2t=weights(*pair.draft.tensors["d2t"].shape, dtype="F32")), "d2t-not-integer", _NOTE,
        VLLM),
    Mutation("weights-double", _E, put("norm.weight", _DOUBLES),
             "tensor-dtype-wrong", _NOTE),
    Mutation("weights-fp8", _E, _fp8, "tensor-dtype-wrong", _CRASH, VLLM),
    Mutation("hidden-other-vllm", _E, config(hidden_size=HIDDEN * 2), "hidden-size-differs", _CRASH,
             OLD_VLLM, also=("tensor-shape-wrong",)),
    Mutation("vocab-larger-sglang", _E, config(vocab_size=VOCAB + 8), "vocab-size-differs", _RISK,
             fixable=True),
    Mutation("plain-q-narrow", _P, put("model.layers.1.self_attn.q_proj.weight",
             weights(HIDDEN // 2, HIDDEN)), "tensor-shape-wrong", _CRASH),
    Mutation("plain-norm-missing", _P, drop("model.norm.weight"), "tensor-missing", _CRASH, VLLM),
    Mutation("plain-up-missing", _P, drop("model.layers.0.mlp.up_proj.weight"), "tensor-missing",
             _LOSS),
    Mutation("mtp-norm-missing", _M, drop("model.layers.0.enorm.weight"), "tensor-missing", _LOSS),
    Mutation("mtp-joins-one", _M, put("model.layers.0.eh_proj.weight", weights(HIDDEN, HIDDEN)),
             "tensor-shape-wrong", _CRASH),
    Mutation("nested-hidden", _S, nested(hidden_size=HIDDEN * 2), "hidden-size-differs", _CRASH,
             VLLM, also=("tensor-shape-wrong", "head-rows-copied")),
)  # fmt: skip
