"""The drafter's head rows do not look like the target's rows of the tokens that d2t names.

A drafter learns to tell tokens apart as its target does. So the cosine similarities among sampled
rows of its head go together with those among the target's head rows of the same tokens, whatever
basis it learned. Over real trained pairs the correlation was 0.84 to 0.97 with the right map, and
at most 0.37 with a wrong, shifted or stale one. This is evidence, not proof: an untrained head
looks the same as a wrong map.

A head and a map that do not belong together is what fine-tuning leaves when it builds a new map
and keeps the old rows; the acceptance length falls to about 1.
"""

from __future__ import annotations

from collections.abc import Iterator

from firedup.core.checked import CheckFinding, Harm
from firedup.core.model import Evidence
from firedup.drafter.case import Case
from firedup.drafter.expected import held
from firedup.drafter.rowfit import LIKELY, UNLIKELY, similarity_of_structure
from firedup.drafter.tell import everywhere, tensor_evidence
from firedup.drafter.vocabmap import holds_ids, is_arange, read_offsets

ID = "head-rows-do-not-fit"


def check(case: Case) -> Iterator[CheckFinding]:
    """Correlate the two structures where nothing else is wrong with the map."""
    head, vocab = held(case, "lm_head.weight"), case.target_facts.vocab
    if case.draft_facts.kind != "eagle3" or head is None or vocab is None:
        return
    if not _is_testable(case, head.shape[0] if head.shape else 0, vocab):
        return
    samples = case.samples
    found = similarity_of_structure(samples.draft_head, samples.target_head, samples.d2t, vocab)
    if found is None or found >= LIKELY:
        return
    harm = Harm.SILENT_LOSS if found < UNLIKELY else Harm.RISK
    name = case.target_facts.head_name or case.target_facts.embed_name or "lm_head.weight"
    evidence = [
        tensor_evidence(case.draft, head, f"{len(samples.draft_head)} rows were sampled"),
        Evidence(
            "file",
            f"their structure goes with that of {name} through d2t at {found:.2f};"
            f" right maps give {LIKELY} to 1, wrong ones less than {UNLIKELY}",
        ),
    ]
    yield CheckFinding(
        ID,
        harm,
        "draft",
        "The head's rows and d2t do not seem to belong together, or the head is untrained.",
        tuple(evidence),
        everywhere(harm, "starts; proposes tokens that were not meant, acceptance length near 1"),
        "Use the map that the head was trained with. After a new map was built, the head's rows"
        " must be moved to it before training goes on.",
    )


def _is_testable(case: Case, rows: int, vocab: int) -> bool:
    """Whether the map is one that other checks have nothing to say about."""
    d2t = case.samples.d2t
    if d2t is None:
        return rows == vocab
    if len(d2t) != rows or holds_ids(d2t, vocab, case.samples.t2d):
        return False
    if rows < vocab and (not any(d2t) or is_arange(d2t)):
        return False
    return not read_offsets(d2t, vocab).outside
