"""The checks of a drafter against its target: one small module each, named here."""

from __future__ import annotations

# A check is a module of this folder with
# - a docstring: the first sentence says what is wrong, the rest is the text of its page;
# - `ID`, the id of its findings, or `IDS`, a mapping from each id to a sentence that says what is
#   wrong;
# - `check(case)`, which yields findings with one of those ids, and yields nothing where it does
#   not apply.
# A finding lists the consequences for all engines and versions: which of them bear on the question
# is decided by the registry, which sets `harm` to the worst of those, and drops a finding without
# any. A finding that lists none keeps its own `harm`.
MODULES: tuple[str, ...] = (
    "file_damage",
    "weights_unread",
    "index_differs",
    "target_is_drafter",
    "same_model",
    "config_number",
    "vocab_size",
    "hidden_size",
    "fc_width",
    "layer_count",
    "tensor_missing",
    "tensor_unknown",
    "layer_names",
    "norm_names",
    "tensor_shape",
    "tensor_dtype",
    "tied_head",
    "draft_vocab",
    "d2t_missing",
    "d2t_default",
    "d2t_ids",
    "d2t_range",
    "map_for_all",
    "t2d_differs",
    "head_structure",
    "head_copied",
    "embedding",
    "values",
    "lost_flag",
    "bias_dropped",
    "made_for",
    "tokenizer",
    "special_token",
    "coverage",
    "launch_flags",
    "algorithm",
    "speculation_flags",
    "architecture",
    "capture",
    "layer_ids",
    "captured_layers",
    "norm_flag",
    "rope",
    "drafter_context",
    "quantization",
    "attention_backend",
    "config_dtype",
    "heads_divisible",
    "several_layers",
    "rejection_sampling",
    "gguf_pair",
    "drafter_memory",
    "break_even",
    "better_drafter",
)
