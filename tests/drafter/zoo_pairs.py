"""The good pairs of the zoo: targets and drafters in each layout."""

from __future__ import annotations

from functools import cache
from typing import Any

from tests.drafter.zoo import (
    DRAFT_VOCAB,
    HIDDEN,
    LAYERS,
    VOCAB,
    WIDTH,
    Config,
    Model,
    Pair,
    Raw,
    draft_ids,
    head_rows,
    llama_config,
    llama_layer,
    mask,
    matrix,
    mla_config,
    mla_layer,
    norm,
    offsets,
    token_rows,
    tokenizer,
    weights,
)

SGLANG, VLLM = ("sglang", "0.5.23"), ("vllm", "0.33.0")
BOTH = (SGLANG, VLLM)


def _text_model(prefix: str, head: str | None, *, is_mla: bool) -> dict[str, Raw]:
    tensors = {f"{prefix}embed_tokens.weight": matrix(token_rows("embed"))}
    layer = mla_layer if is_mla else llama_layer
    for number in range(LAYERS):
        tensors |= layer(f"{prefix}layers.{number}.")
    tensors[f"{prefix}norm.weight"] = norm()
    if head:
        tensors[head] = matrix(token_rows("head"))
    return tensors


def llama() -> Model:
    """A Llama in four shards."""
    config = llama_config("LlamaForCausalLM", LAYERS)
    tensors = _text_model("model.", "lm_head.weight", is_mla=False)
    return Model(config, tensors, tokenizer(), shards=4, folder="Llama-3.1-8B-Instruct")


def qwen() -> Model:
    """A Qwen3 whose head is its embedding."""
    config = llama_config("Qwen3ForCausalLM", LAYERS, model_type="qwen3", tie_word_embeddings=True)
    tensors = _text_model("model.", None, is_mla=False)
    tensors["model.embed_tokens.weight"] = matrix(token_rows("head"))
    return Model(config, tensors, tokenizer(), folder="Qwen3-8B")


def deepseek() -> Model:
    """A DeepSeek-V3 with FP8 weights."""
    quantization = {"quant_method": "fp8", "fmt": "e4m3", "weight_block_size": [128, 128]}
    config = mla_config("DeepseekV3ForCausalLM", LAYERS, quantization_config=quantization)
    tensors = _text_model("model.", "lm_head.weight", is_mla=True)
    for name in [n for n in tensors if n.endswith("_proj.weight")]:
        tensors[name] = weights(*tensors[name].shape, dtype="F8_E4M3")
        tensors[f"{name}_scale_inv"] = weights(1, 1, dtype="F32")
    return Model(config, tensors, tokenizer(), shards=3, folder="DeepSeek-V3")


def kimi() -> Model:
    """A Kimi-K2.5: a vision tower, a nested text model, INT4 experts."""
    scheme = {"weights": {"num_bits": 4, "group_size": 32, "type": "int"}, "targets": ["Linear"]}
    quantization = {
        "quant_method": "compressed-tensors",
        "format": "pack-quantized",
        "config_groups": {"group_0": scheme},
        "ignore": ["re:.*self_attn.*", "lm_head"],
    }
    text = mla_config("DeepseekV3ForCausalLM", LAYERS, model_type="kimi_k2")
    text["quantization_config"] = quantization
    config: Config = {
        "architectures": ["KimiK25ForConditionalGeneration"],
        "model_type": "kimi_k25",
        "text_config": text,
        "vision_config": {"hidden_size": 16, "num_hidden_layers": 2},
        "eos_token_id": 1,
    }
    prefix = "language_model.model."
    tensors = _text_model(prefix, "language_model.lm_head.weight", is_mla=True)
    for expert in range(4):
        up = f"{prefix}layers.1.mlp.experts.{expert}.up_proj.weight"
        tensors[f"{up}_packed"] = weights(WIDTH, HIDDEN // 8, dtype="I32")
        tensors[f"{up}_scale"] = weights(WIDTH, 1)
        tensors[f"{up}_shape"] = weights(2, dtype="I32")
    tensors["vision_tower.patch_embed.proj.weight"] = weights(16, 3, 4, 4)
    tensors["mm_projector.proj.0.weight"] = weights(HIDDEN, 16)
    return Model(config, tensors, tokenizer(), shards=3, folder="Kimi-K2.5")


def _head(*, noise: float = 0.3, has_mask: bool = True) -> dict[str, Raw]:
    ids = draft_ids()
    tensors = {"lm_head.weight": matrix(head_rows(ids, noise)), "d2t": offsets(ids)}
    return tensors | ({"t2d": mask(ids)} if has_mask else {})


def _body(layer: str, *, is_mla: bool = False, streams: int = 3) -> dict[str, Raw]:
    make = mla_layer if is_mla else llama_layer
    return {
        "fc.weight": weights(HIDDEN, streams * HIDDEN),
        **make(layer, first=2 * HIDDEN),
        f"{layer}hidden_norm.weight": norm(seed=5),
        "norm.weight": norm(seed=6),
    }


def _draft(architecture: str = "LlamaForCausalLMEagle3", **more: Any) -> Config:
    return llama_config(architecture, 1, draft_vocab_size=DRAFT_VOCAB, **more)


def eagle_repository() -> Pair:
    """As the EAGLE repository writes: `midlayer.`, both maps, no layer ids."""
    return Pair(llama(), Model(_draft(), _body("midlayer.") | _head(), folder="eagle3"), BOTH)


def specforge() -> Pair:
    """As SpecForge exports: layer ids of outputs, no embedding."""
    ids = {"eagle_aux_hidden_state_layer_ids": [1, 3, 4], "use_aux_hidden_state": True}
    draft = Model(_draft(eagle_config=ids), _body("midlayer.") | _head(), folder="specforge")
    return Pair(qwen(), draft, (SGLANG,))


def speculators() -> Pair:
    """As speculators writes: nested config, own copy of the embedding, head rows copied."""
    target = llama()
    verifier = {
        "name_or_path": "meta-llama/Llama-3.1-8B-Instruct",
        "architectures": ["LlamaForCausalLM"],
    }
    proposal = {"proposal_type": "greedy", "speculative_tokens": 3, "accept_tolerance": 0.0}
    config: Config = {
        "architectures": ["Eagle3DraftModel"],
        "speculators_model_type": "eagle3",
        "speculators_version": "0.9.0",
        "draft_vocab_size": DRAFT_VOCAB,
        "norm_before_residual": False,
        "target_hidden_size": None,
        "tie_word_embeddings": False,
        "torch_dtype": "bfloat16",
        "transformer_layer_config": llama_config("LlamaForCausalLM", 1),
        "speculators_config": {
            "algorithm": "eagle3",
            "default_proposal_method": "greedy",
            "proposal_methods": [proposal],
            "verifier": verifier,
        },
    }
    tensors = {"embed_tokens.weight": target.tensors["model.embed_tokens.weight"]}
    tensors |= _body("layers.0.") | _head(noise=0)
    return Pair(target, Model(config, tensors, folder="speculators"), (VLLM,))


def modelopt() -> Pair:
    """As ModelOpt exports for DeepSeek: multi-head latent attention, no t2d."""
    config = mla_config("Eagle3DeepseekV2ForCausalLM", 1, draft_vocab_size=DRAFT_VOCAB)
    config["producer"] = {"name": "modelopt"}
    config["eagle_config"] = {"eagle_aux_hidden_state_layer_ids": [1, 3, 4]}
    tensors = _body("layers.0.", is_mla=True) | _head(noise=0.2, has_mask=False)
    return Pair(deepseek(), Model(config, tensors, folder="modelopt"), (SGLANG,))


def angelslim() -> Pair:
    """As AngelSlim writes: an architecture of its own name."""
    config = _draft("Eagle3LlamaForCausalLM")
    return Pair(qwen(), Model(config, _body("midlayer.") | _head(), folder="angelslim"), (VLLM,))


def torchspec() -> Pair:
    """As TorchSpec writes for Kimi: latent attention, and a head for all tokens."""
    config = mla_config("Eagle3DeepseekV2ForCausalLM", 1, draft_vocab_size=VOCAB)
    config["eagle_config"] = {"eagle_aux_hidden_state_layer_ids": [1, 3, 4]}
    head = {"lm_head.weight": matrix(head_rows(range(VOCAB)))}
    draft = Model(config, _body("layers.0.", is_mla=True) | head, folder="torchspec")
    return Pair(kimi(), draft, (SGLANG,))


def llama_for_kimi() -> Pair:
    """A Llama drafter for Kimi with plain names, layer ids of inputs."""
    config = _draft(eagle_config={"eagle_aux_hidden_state_layer_ids": [2, 4, 5]})
    return Pair(kimi(), Model(config, _body("midlayer.") | _head(), folder="kimi-llama"), BOTH)


def eagle_three_one() -> Pair:
    """An EAGLE-3.1 drafter: each stream is normalised before fc reads it."""
    pair = torchspec()
    pair.draft.config |= {"fc_norm": True, "norm_output": True}
    pair.draft.tensors |= {f"fc_norm.{i}.weight": norm(seed=20 + i) for i in range(3)}
    pair.draft.folder = "eagle3.1"
    return pair


def quantised() -> Pair:
    """A drafter with INT4 weights in packed form, for an AWQ target."""
    target, draft = llama(), Model(_draft(), _body("midlayer.") | _head(), folder="w4a16")
    target.config["quantization_config"] = {"quant_method": "awq", "bits": 4, "group_size": 32}
    draft.config["quantization_config"] = {
        "quant_method": "compressed-tensors",
        "format": "pack-quantized",
        "ignore": ["lm_head", "fc"],
    }
    for tensors, form in ((target.tensors, "qweight"), (draft.tensors, "weight_packed")):
        for name in [name for name in tensors if name.endswith("_proj.weight")]:
            rows, columns = tensors.pop(name).shape
            stem = name.removesuffix("weight")
            tensors[f"{stem}{form}"] = weights(rows, columns // 8, dtype="I32")
            scales = "scales" if form == "qweight" else "weight_scale"
            tensors[f"{stem}{scales}"] = weights(rows, 1)
    return Pair(target, draft, (VLLM,))


def two_shards() -> Pair:
    """The drafter in two files with an index."""
    pair = eagle_repository()
    pair.draft.shards = 2
    return pair


def plain() -> Pair:
    """A small Llama that drafts as it is."""
    config = llama_config("LlamaForCausalLM", 2)
    tensors = {"model.embed_tokens.weight": matrix(token_rows("embed"))}
    for number in range(2):
        tensors |= llama_layer(f"model.layers.{number}.")
    tensors |= {"model.norm.weight": norm(), "lm_head.weight": matrix(token_rows("head"))}
    return Pair(llama(), Model(config, tensors, tokenizer(), folder="Llama-3.2-1B-Instruct"), BOTH)


def mtp() -> Pair:
    """The head that predicts the next token but one, as DeepSeek ships it."""
    config = mla_config("DeepseekV3ForCausalLMNextN", 1, num_nextn_predict_layers=1)
    at = "model.layers.0."
    tensors = mla_layer(at) | {
        f"{at}eh_proj.weight": weights(HIDDEN, 2 * HIDDEN),
        f"{at}enorm.weight": norm(seed=8),
        f"{at}hnorm.weight": norm(seed=9),
        f"{at}shared_head.norm.weight": norm(seed=10),
    }
    return Pair(deepseek(), Model(config, tensors, folder="nextn"), (SGLANG,))


def eagle_one() -> Pair:
    """An EAGLE-1 head: two streams into fc, the target's own head."""
    tensors = {"fc.weight": weights(HIDDEN, 2 * HIDDEN), **llama_layer("layers.0.")}
    del tensors["layers.0.input_layernorm.weight"]
    tensors["embed_tokens.weight"] = matrix(token_rows("embed"))
    config = llama_config("LlamaForCausalLMEagle", 1)
    return Pair(llama(), Model(config, tensors, folder="eagle"), (SGLANG,))


MAKERS = {
    "eagle-repository": eagle_repository,
    "specforge": specforge,
    "speculators": speculators,
    "modelopt": modelopt,
    "angelslim": angelslim,
    "torchspec": torchspec,
    "llama-for-kimi": llama_for_kimi,
    "eagle-3.1": eagle_three_one,
    "quantised": quantised,
    "two-shards": two_shards,
    "plain": plain,
    "mtp": mtp,
    "eagle-1": eagle_one,
}


@cache
def good(name: str) -> Pair:
    """The pair of this name; copy it before you change it."""
    return MAKERS[name]()
