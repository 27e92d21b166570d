"""d2t holds what a buffer is filled with before a map is loaded.

That is zeros, or 0, 1, 2, …: with zeros row i is taken for token i, with a count for token 2i.
Neither is what a map over the most frequent tokens looks like, and next to no draft token is
accepted.
"""

from __future__ import annotations

from collections.abc import Iterator

from firedup.core.checked import CheckFinding, Harm
from firedup.core.model import Evidence
from firedup.drafter.case import Case
from firedup.drafter.expected import held
from firedup.drafter.tell import everywhere, tensor_evidence
from firedup.drafter.vocabmap import is_arange

ID = "d2t-never-filled"


def check(case: Case) -> Iterator[CheckFinding]:
    """Zeros or a count, where fewer tokens are drafted than there are."""
    d2t, vocab, tensor = case.samples.d2t, case.target_facts.vocab, held(case, "d2t")
    if d2t is None or tensor is None or vocab is None or len(d2t) < 2 or case.draft.gguf:
        return
    if len(d2t) >= vocab or (any(d2t) and not is_arange(d2t)):
        return
    marked = case.samples.t2d
    identity = tuple(range(len(d2t)))
    if marked == identity and not any(d2t):
        return  # both maps agree that the first tokens are drafted
    what = "0, 1, 2, …" if any(d2t) else "zeros alone"
    has_mask = marked is not None and len(marked) == len(d2t)
    evidence = [tensor_evidence(case.draft, tensor, f"holds {what}")]
    if has_mask:
        first = ", ".join(map(str, (marked or ())[:6]))
        evidence.append(Evidence("file", f"t2d marks {len(d2t):,} other tokens: {first}, …"))
    yield CheckFinding(
        ID,
        Harm.SILENT_LOSS,
        "draft",
        f"d2t was never filled: it holds {what} for {len(d2t):,} of {vocab:,} tokens.",
        tuple(evidence),
        everywhere(Harm.SILENT_LOSS, "starts; proposes wrong tokens, acceptance length near 1"),
        "Take d2t from t2d; --fix does it."
        if has_mask
        else "Save the map of the training with the drafter.",
        fixable=has_mask,
    )
