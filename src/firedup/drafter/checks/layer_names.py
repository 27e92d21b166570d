"""The drafter's layer has a name that this version of the engine passes over.

SGLang before 0.5.12 knows the layer of a Llama drafter as `midlayer.` alone; of a drafter whose
layer is called `layers.0.` it loads nothing of it and says nothing. The acceptance length of such
a drafter was 1.21 in a trial where the same weights under the right name give 2.88.
"""

from __future__ import annotations

from collections.abc import Iterator

from firedup.core.checked import CheckFinding, Harm
from firedup.drafter.case import Case
from firedup.drafter.checkpoint import Tensor
from firedup.drafter.rename import FIRST_LAYER, MIDLAYER
from firedup.drafter.tell import sglang, tensor_evidence

ID = "layer-name-not-read"
BEFORE = "<0.5.12"


def layers_by_number(case: Case) -> tuple[Tensor, ...]:
    """The tensors of the first layer of a Llama drafter that are called layers.0."""
    if case.draft_facts.kind != "eagle3" or case.draft_facts.is_mla or case.draft.gguf:
        return ()
    return tuple(
        tensor for name, tensor in case.draft.tensors.items() if name.startswith(FIRST_LAYER)
    )


def check(case: Case) -> Iterator[CheckFinding]:
    """One finding for the layer."""
    tensors = layers_by_number(case)
    if not tensors:
        return
    # Without a version the files alone do not show whether it happens.
    harm = Harm.SILENT_LOSS if case.version else Harm.RISK
    yield CheckFinding(
        ID,
        harm,
        "draft",
        f"The layer is called {FIRST_LAYER}*, which SGLang reads from 0.5.12 on.",
        tuple(tensor_evidence(case.draft, tensor) for tensor in tensors[:3]),
        (sglang(harm, "passes over the layer without a word", BEFORE),),
        f"Rename it to {MIDLAYER}*, or use SGLang 0.5.12 or newer; --fix renames it.",
        fixable=True,
    )
