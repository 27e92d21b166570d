"""The drafter drafts all tokens and carries a d2t nevertheless.

vLLM has from 0.30 on no place for the map of a drafter whose vocabulary is the target's, and ends
with an error about a parameter that does not exist. Some trainers write a map of zeros before one
is loaded.
"""

from __future__ import annotations

from collections.abc import Iterator

from firedup.core.checked import CheckFinding, Harm
from firedup.drafter.case import Case
from firedup.drafter.expected import held
from firedup.drafter.tell import llama_cpp, sglang, tensor_evidence, vllm

ID = "d2t-not-needed"
_ADDS, _NO_PLACE = "adds what it holds to each id", "There is no module or parameter"


def is_identity(case: Case) -> bool:
    """Whether the map changes nothing."""
    d2t = case.samples.d2t
    return d2t is not None and not any(d2t)


def check(case: Case) -> Iterator[CheckFinding]:
    """A map over all tokens."""
    tensor, vocab = held(case, "d2t"), case.target_facts.vocab
    if tensor is None or case.draft_facts.kind != "eagle3" or case.draft.gguf:
        return
    if vocab is None or (case.draft_facts.draft_vocab or 0) != vocab:
        return
    yield CheckFinding(
        ID,
        Harm.CRASH,
        "draft",
        f"The drafter drafts all {vocab:,} tokens and has a d2t.",
        (tensor_evidence(case.draft, tensor, "zeros alone" * is_identity(case)),),
        (
            sglang(Harm.NOTE, _ADDS),
            vllm(Harm.NOTE, _ADDS, "<0.30"),
            vllm(Harm.CRASH, f"{_NO_PLACE} named 'draft_id_to_target_id'", ">=0.30"),
            llama_cpp(Harm.NOTE, _ADDS),
        ),
        "Remove d2t and t2d; --fix does it." if is_identity(case) else "Remove d2t.",
        fixable=is_identity(case),
    )
