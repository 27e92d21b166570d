"""The drafter has a smaller vocabulary than the target and no d2t.

Without the map the row of the drafter's head is taken for the id of the token. SGLang and vLLM
start without a word; in a real SGLang such a drafter had an acceptance length of 1.01 where the
same one with its map has 3.31.
"""

from __future__ import annotations

from collections.abc import Iterator

from firedup.core.checked import CheckFinding, Harm
from firedup.core.model import Evidence
from firedup.drafter.case import Case
from firedup.drafter.checks.draft_vocab import rows_of
from firedup.drafter.expected import held
from firedup.drafter.rename import renames_of
from firedup.drafter.tell import config_evidence, everywhere, tensor_evidence

ID = "d2t-missing"


def check(case: Case) -> Iterator[CheckFinding]:
    """A reduced head without a map."""
    facts, vocab = case.draft_facts, case.target_facts.vocab
    rows = rows_of(case) or facts.draft_vocab
    if facts.kind != "eagle3" or case.draft.gguf or case.draft.damages or not case.draft.tensors:
        return
    if held(case, "d2t") is not None or not rows or not vocab or rows >= vocab:
        return
    marked, head = case.samples.t2d, held(case, "lm_head.weight")
    has_mask = marked is not None and len(marked) == rows
    is_named = "d2t" in renames_of(case).values()
    evidence = [config_evidence(case.draft, "draft_vocab_size", facts.draft_vocab)]
    if head is not None:
        evidence.append(tensor_evidence(case.draft, head, f"the target has {vocab:,} tokens"))
    if has_mask:
        evidence.append(Evidence("file", f"t2d marks {rows:,} tokens: the map can be made of it"))
    yield CheckFinding(
        ID,
        Harm.SILENT_LOSS,
        "draft",
        f"{rows:,} of {vocab:,} tokens are drafted, and d2t, which says which, is missing.",
        tuple(evidence),
        everywhere(Harm.SILENT_LOSS, "takes row numbers for ids, acceptance length near 1"),
        "Make d2t from t2d; --fix does it."
        if has_mask
        else "Save the map of the training with the drafter; without it the head is of no use.",
        fixable=has_mask or is_named,
    )
