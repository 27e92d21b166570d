"""The drafter's files hold tensors under names that no engine reads.

SGLang passes over a name that it does not know without a word: what it holds is not used. vLLM ends
with a KeyError, from 0.25 on with "There is no module or parameter named", and passes over biases
then. A prefix that a training framework put before every name is the usual reason.
"""

from __future__ import annotations

from collections.abc import Iterator

from firedup.core.checked import CheckFinding, Harm
from firedup.drafter.case import Case
from firedup.drafter.rename import renames_of, unknown_tensors
from firedup.drafter.tell import llama_cpp, sglang, tensor_evidence, under, vllm

ID = "tensor-unknown"
# How vLLM loads a drafter: until 0.24 each name is looked up, since then module by module.
BY_KEY, BY_MODULE = "<0.25", ">=0.25"


def check(case: Case) -> Iterator[CheckFinding]:
    """One finding for all names that are not those of this kind of drafter."""
    unknown = unknown_tensors(case)
    if not unknown:
        return
    renames = renames_of(case)
    evidence = tuple(
        tensor_evidence(case.draft, tensor, _meant(renames.get(tensor.name)))
        for tensor in unknown[:8]
    )
    only_biases = all(tensor.name.endswith(".bias") for tensor in unknown)
    count = f"{len(unknown)} tensors have names" if len(unknown) > 1 else "A tensor has a name"
    # SGLang's Llama drafter finds its weights under either name, its MLA drafter does not.
    is_found = not case.draft_facts.is_mla and all(t.name.startswith("model.") for t in unknown)
    yield CheckFinding(
        ID,
        Harm.RISK,
        "draft",
        f"{count} that engines do not read{under(t.name for t in unknown)}.",
        evidence,
        (
            sglang(Harm.NOTE, "reads names with `model.` before them like those without")
            if is_found and len(renames) >= len(unknown)
            else sglang(Harm.SILENT_LOSS, "passes over them without a word"),
            vllm(Harm.CRASH, f"KeyError: '{unknown[0].name}'", BY_KEY),
            vllm(Harm.SILENT_LOSS, "drops biases without a word", BY_MODULE)
            if only_biases
            else vllm(Harm.CRASH, "There is no module or parameter named '…'", BY_MODULE),
            llama_cpp(Harm.CRASH, "the converter cannot map the tensor"),
        ),
        "Give the tensors the names that engines read; --fix does it."
        if len(renames) >= len(unknown)
        else "Export the drafter again, or remove what its engine cannot use.",
        fixable=len(renames) >= len(unknown),
    )


def _meant(wanted: str | None) -> str:
    return f"would be {wanted}" if wanted else ""
