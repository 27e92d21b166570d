"""The norms before fc have names that only SGLang reads.

Early EAGLE-3.1 exports call them `aux_norm_low`, `aux_norm_mid` and `aux_norm_high`. SGLang takes
them for `fc_norm.0` to `fc_norm.2`, and reads them under those names just as well; vLLM knows the
new names alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from firedup.core.checked import CheckFinding, Harm
from firedup.drafter.case import Case
from firedup.drafter.checkpoint import Tensor
from firedup.drafter.checks.tensor_unknown import BY_KEY, BY_MODULE
from firedup.drafter.consequence import as_asked
from firedup.drafter.expected import held
from firedup.drafter.tell import llama_cpp, some, tensor_evidence, vllm

ID = "norm-name-not-read"
_PLACES = ("low", "mid", "high")


def old_norms(case: Case) -> Mapping[str, Tensor]:
    """New name → the tensor that has the old one."""
    if case.draft_facts.kind != "eagle3" or case.draft.gguf:
        return {}
    return {
        f"fc_norm.{number}.weight": tensor
        for number, place in enumerate(_PLACES)
        if (tensor := held(case, f"aux_norm_{place}.weight")) is not None
    }


def check(case: Case) -> Iterator[CheckFinding]:
    """One finding for all of them."""
    tensors = list(old_norms(case).values())
    if not tensors:
        return
    name = tensors[0].name
    found = (
        vllm(Harm.CRASH, f"KeyError: '{name}'", BY_KEY),
        vllm(Harm.CRASH, f"There is no module or parameter named '{name}'", BY_MODULE),
        llama_cpp(Harm.CRASH, "the converter does not know these norms"),
    )
    yield CheckFinding(
        ID,
        Harm.CRASH,
        "draft",
        f"The norms before fc are called {some(tensor.name for tensor in tensors)}.",
        tuple(tensor_evidence(case.draft, tensor) for tensor in tensors),
        as_asked(case, found),
        "Rename them to fc_norm.0 to fc_norm.2; --fix does it.",
        fixable=True,
    )
