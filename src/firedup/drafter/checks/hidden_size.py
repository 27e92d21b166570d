"""The drafter was made for hidden states of another width than the target's.

An EAGLE drafter reads the target's hidden states. `target_hidden_size`, or `hidden_size` where that
is absent, must be the width that the target writes; SGLang also feeds it the target's embedding.
"""

from __future__ import annotations

from collections.abc import Iterator

from firedup.core.checked import CheckFinding, Consequence, Harm
from firedup.drafter.case import Case
from firedup.drafter.expected import held
from firedup.drafter.tell import config_evidence, llama_cpp, sglang, vllm

ID = "hidden-size-differs"


def check(case: Case) -> Iterator[CheckFinding]:
    """Compare what the drafter reads with what the target writes."""
    facts, wanted = case.draft_facts, case.target_facts.hidden
    said = facts.target_hidden or facts.hidden
    if facts.kind not in {"eagle3", "eagle", "mtp"} or wanted is None or said in {None, wanted}:
        return
    key = "target_hidden_size" if facts.target_hidden else "hidden_size"
    yield CheckFinding(
        ID,
        Harm.CRASH,
        "draft",
        f"The drafter reads hidden states of width {said:,}, the target writes {wanted:,}.",
        (
            config_evidence(case.draft, key, said),
            config_evidence(case.target, "hidden_size", wanted),
        ),
        (
            sglang(Harm.CRASH, f"{_MATRIX}, at the first draft step"),
            *_in_vllm(case),
            llama_cpp(Harm.CRASH, "GGML_ASSERT(ggml_can_repeat(b, a)) and an abort"),
        ),
        "This drafter belongs to another model; use one that was made for this target.",
    )


_MATRIX = "RuntimeError: mat1 and mat2 shapes cannot be multiplied"


def _in_vllm(case: Case) -> tuple[Consequence, ...]:
    """Before 0.22 it shares the target's embedding whatever its width, and asserts at start-up."""
    late = f"becomes ready; the first request ends with {_MATRIX}"
    if case.draft_facts.kind != "eagle3" or held(case, "embed_tokens.weight") is not None:
        return (vllm(Harm.CRASH, late),)
    early = "an AssertionError at start-up: hidden states and embeddings differ in width"
    return vllm(Harm.CRASH, early, "<0.22"), vllm(Harm.CRASH, late, ">=0.22")
