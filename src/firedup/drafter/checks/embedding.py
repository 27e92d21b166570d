"""The drafter carries an embedding of its own that is not the target's.

SGLang puts the target's embedding in its place and never uses it. vLLM uses the target's only where
the drafter has none or an equal one; llama.cpp always uses the drafter's. A random embedding in an
export (a known fault of one trainer) is harmless in the first and fatal in the others: acceptance
length 1.25 instead of 2.88 in a trial.
"""

from __future__ import annotations

from collections.abc import Iterator

from firedup.core.checked import CheckFinding, Harm
from firedup.core.model import Evidence
from firedup.drafter.case import Case
from firedup.drafter.expected import held
from firedup.drafter.rowfit import cosine, is_usable, pairs_of
from firedup.drafter.tell import llama_cpp, sglang, tensor_evidence, vllm

ID = "embedding-differs"
_KIN = 0.5  # rows of one token, trained further, stay closer than this


def check(case: Case) -> Iterator[CheckFinding]:
    """Compare sampled rows of both embeddings."""
    tensor, vocab = held(case, "embed_tokens.weight"), case.target_facts.vocab
    if case.draft_facts.kind != "eagle3" or tensor is None or vocab is None or case.draft.gguf:
        return
    draft, target = case.samples.draft_embed, case.samples.target_embed
    pairs = [
        (left, right)
        for left, right in pairs_of(draft, target, range(vocab))
        if len(left) == len(right)
    ]
    broken = [row for row in sorted(draft) if not is_usable(draft[row])]
    if not pairs or (len(pairs) < 4 and not broken):
        return
    equal = sum(left == right for left, right in pairs)
    if equal == len(pairs):
        return
    mean = sum(cosine(left, right) for left, right in pairs) / len(pairs)
    is_kin = mean > _KIN and len(broken) < len(draft) // 2
    harm = Harm.NOTE if is_kin else Harm.SILENT_LOSS
    evidence = (
        tensor_evidence(case.draft, tensor),
        Evidence(
            "file",
            f"{equal} of {len(pairs)} sampled rows are equal to the target's,"
            f" their mean cosine is {mean:.2f}",
        ),
    )
    yield CheckFinding(
        ID,
        harm,
        "draft",
        "The drafter's own embedding was trained further than the target's."
        if is_kin
        else "The drafter's own embedding has nothing in common with the target's.",
        evidence,
        (
            sglang(Harm.NOTE, "puts the target's embedding in its place"),
            vllm(harm, "keeps the drafter's own, since the two are not equal"),
            llama_cpp(harm, "keeps the drafter's own"),
        ),
        None
        if is_kin
        else "Remove embed_tokens.weight from the drafter; engines then take the target's.",
        fixable=False,
    )
