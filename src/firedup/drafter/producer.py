"""Which program wrote a drafter, guessed from what only that one writes."""

from __future__ import annotations

from collections.abc import Mapping

from firedup.drafter.checkpoint import Checkpoint
from firedup.drafter.config import architecture, inner, text


def guess_producer(draft: Checkpoint, names: Mapping[str, str]) -> tuple[str | None, str]:
    """(producer, what tells it); (None, "") where nothing does, as without a config."""
    config = draft.config
    if not config:
        return None, ""
    if text(config, "speculators_model_type") or inner(config, "speculators_config"):
        return "speculators", "config.json has the nested format of speculators"
    quantised = inner(draft.extra, "hf_quant_config.json")
    maker = text(inner(quantised, "producer"), "name") or ""
    if maker == "modelopt" or inner(config, "eagle_config").get("eagle_architecture_config"):
        return "modelopt", "its files name modelopt"
    if architecture(config) == "Eagle3LlamaForCausalLM":
        return "angelslim", "the architecture Eagle3LlamaForCausalLM"
    has_midlayer = any("midlayer." in name for name in draft.tensors)
    has_ids = bool(inner(config, "eagle_config")) or "eagle_aux_hidden_state_layer_ids" in config
    if has_midlayer and has_ids:
        return "specforge", "tensors under midlayer. and ids of layers in the config"
    if has_midlayer and not architecture(config).endswith("Eagle3"):
        return "eagle", "tensors under midlayer. and no architecture of EAGLE-3"
    has_map, has_mask = "d2t" in names, "t2d" in names
    if has_map and not has_mask and "layers.0.hidden_norm.weight" in names:
        return "modelopt", "tensors under layers.0. and d2t without t2d"
    is_latent = any("kv_a_proj_with_mqa" in name for name in names)
    if is_latent and "embed_tokens.weight" in names:
        return "torchspec", "an MLA layer under layers.0. and an embedding of its own"
    return None, ""
