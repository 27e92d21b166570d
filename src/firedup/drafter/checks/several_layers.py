"""The drafter has more layers, or joins another number of hidden states, than an engine can use.

SGLang before 0.5.12 and its drafter with latent attention, and llama.cpp, know drafters of one
layer alone; engines before SGLang 0.5.12 and vLLM 0.22 build fc for three hidden states.
"""

from __future__ import annotations

from collections.abc import Iterator

from firedup.core.checked import CheckFinding, Harm
from firedup.drafter.case import Case
from firedup.drafter.checks.layer_count import layers_held
from firedup.drafter.consequence import as_asked, consequences, worst_of
from firedup.drafter.expected import streams_of
from firedup.drafter.tell import config_evidence

IDS = {
    "several-layers": "The drafter has more layers than an engine can use.",
    "streams-not-three": "The drafter joins another number of hidden states than three.",
}


def check(case: Case) -> Iterator[CheckFinding]:
    """Count layers and hidden states."""
    facts = case.draft_facts
    if facts.kind != "eagle3" or case.draft.gguf:
        return
    layers = facts.layers or 1
    # Where the files hold one layer and the config says more, another check speaks.
    if layers > 1 and layers_held(case) in (None, layers):
        found = consequences("several-layers")
        found += consequences("several-layers-mla") if facts.is_mla else ()
        yield CheckFinding(
            "several-layers",
            worst_of(found, Harm.CRASH),
            "draft",
            f"The drafter has {layers} layers.",
            (config_evidence(case.draft, "num_hidden_layers", layers),),
            as_asked(case, found),
            "Use SGLang 0.5.12 or later, or vLLM."
            if not facts.is_mla
            else "Use vLLM, or a drafter of one layer.",
        )
    streams = streams_of(case)
    if streams != 3:
        found = consequences("streams-not-three")
        yield CheckFinding(
            "streams-not-three",
            worst_of(found, Harm.CRASH),
            "draft",
            f"fc joins {streams} hidden states instead of 3.",
            (config_evidence(case.draft, facts.layer_ids_key or "num_aux_hidden_states", streams),),
            as_asked(case, found),
            "Use SGLang 0.5.12 or later, or vLLM 0.22 or later.",
        )
