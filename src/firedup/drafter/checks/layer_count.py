"""The drafter's files hold another number of layers than config.json says.

Layers beyond the configured number are passed over by SGLang and refused by vLLM; missing ones keep
their initial weights.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from firedup.core.checked import CheckFinding, Consequence, Harm
from firedup.core.model import Evidence
from firedup.drafter.case import Case
from firedup.drafter.checks.tensor_unknown import BY_KEY, BY_MODULE
from firedup.drafter.tell import config_evidence, file_of, llama_cpp, sglang, vllm

ID = "layer-count-differs"
_LAYER = re.compile(r"layers\.(\d{1,4})\.")


def layers_held(case: Case) -> int | None:
    """How many layers the files hold, counted from 0 without a gap; None for kinds without."""
    if case.draft_facts.kind not in {"eagle3", "eagle"} or case.draft.gguf:
        return None
    found = {int(match[1]) for name in case.draft_facts.names if (match := _LAYER.match(name))}
    return len(found) if found and found == set(range(len(found))) else None


def check(case: Case) -> Iterator[CheckFinding]:
    """Count the layers."""
    said, found = case.draft_facts.layers, layers_held(case)
    if found is None or said is None or said == found:
        return
    is_more = found > said
    config = case.draft.config
    yield CheckFinding(
        ID,
        Harm.SILENT_LOSS,
        "draft",
        f"config.json says {said} layer{'s' * (said != 1)}, the files hold {found}.",
        (
            config_evidence(case.draft, "num_hidden_layers", said),
            Evidence("file", f"{file_of(case.draft, '')}: layers.0 to layers.{found - 1}"),
        ),
        (
            sglang(Harm.SILENT_LOSS, "passes over the others without a word")
            if is_more
            else sglang(Harm.SILENT_LOSS, "missing layers keep their initial weights"),
            *_in_vllm(found, is_more=is_more),
            llama_cpp(Harm.CRASH, "EAGLE-3 drafters have one layer"),
        ),
        f"Set num_hidden_layers to {found}; --fix does it.",
        fixable="num_hidden_layers" in config or "transformer_layer_config" in config,
    )


def _in_vllm(found: int, *, is_more: bool) -> tuple[Consequence, ...]:
    if not is_more:
        return (vllm(Harm.SILENT_LOSS, "missing layers keep their initial weights"),)
    return (
        vllm(Harm.CRASH, f"KeyError: 'layers.{found - 1}.…'", BY_KEY),
        vllm(Harm.CRASH, "There is no module or parameter named '…'", BY_MODULE),
    )
