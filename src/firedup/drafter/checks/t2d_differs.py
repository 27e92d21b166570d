"""t2d marks other tokens than d2t leads to.

Engines read d2t alone, trainers read both: with a t2d of another map the next training gives each
row of the head the targets of another token.
"""

from __future__ import annotations

from collections.abc import Iterator

from firedup.core.checked import CheckFinding, Harm
from firedup.core.model import Evidence
from firedup.drafter.case import Case
from firedup.drafter.checks.draft_vocab import rows_of
from firedup.drafter.expected import held
from firedup.drafter.rowfit import LIKELY, similarity_of_structure
from firedup.drafter.tell import everywhere, some, tensor_evidence
from firedup.drafter.vocabmap import holds_ids, is_arange, read_offsets

ID = "t2d-differs"


def check(case: Case) -> Iterator[CheckFinding]:
    """Only where d2t can be right by itself."""
    d2t, marked, vocab = case.samples.d2t, case.samples.t2d, case.target_facts.vocab
    tensor = held(case, "t2d")
    if d2t is None or marked is None or vocab is None or tensor is None or case.draft.gguf:
        return
    reading = read_offsets(d2t, vocab)
    never_filled = len(d2t) < vocab and (not any(d2t) or is_arange(d2t))
    if never_filled or holds_ids(d2t, vocab, marked) or reading.outside or reading.doubled:
        return
    led, said = set(reading.ids), set(marked)
    if led == said and len(tensor.shape) == 1 and tensor.shape[0] == vocab:
        return
    evidence = [tensor_evidence(case.draft, tensor, f"{len(said):,} tokens are marked")]
    if more := sorted(said - led):
        evidence.append(Evidence("file", f"marked, but not in d2t: {some(more)}"))
    if fewer := sorted(led - said):
        evidence.append(Evidence("file", f"in d2t, but not marked: {some(fewer)}"))
    if led == said:
        size = tensor.shape[0] if tensor.shape else 0
        message = f"t2d is of {size:,} tokens, the target has {vocab:,}."
    else:
        share = len(led & said) / max(1, len(led))
        message = (
            f"t2d and d2t are of different maps: they have {share:.0%} of the tokens in common."
        )
    samples = case.samples
    fit = similarity_of_structure(samples.draft_head, samples.target_head, d2t, vocab)
    is_proven = fit is not None and fit >= LIKELY and rows_of(case) == len(d2t)
    if fit is not None:
        evidence.append(Evidence("file", f"the head's rows go with d2t at {fit:.2f} of 1"))
    yield CheckFinding(
        ID,
        Harm.RISK,
        "draft",
        message,
        tuple(evidence),
        everywhere(Harm.RISK, "does not read t2d; one of the two maps is not this head's"),
        "The head's rows speak for d2t; --fix makes t2d of it."
        if is_proven
        else "Find out which of the two is the training's.",
        fixable=is_proven,
    )
