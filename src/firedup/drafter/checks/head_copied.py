"""A producer that copies the target's head rows wrote others.

speculators copies `lm_head` of the target for the drafted tokens and freezes it, so that each row
of the drafter's head must be bit for bit the target's row of its token. That proves map and target;
where it does not hold, the map is not this head's, or the drafter was made for another target.
"""

from __future__ import annotations

from collections.abc import Iterator

from firedup.core.checked import CheckFinding, Harm
from firedup.core.model import Evidence
from firedup.drafter.case import Case
from firedup.drafter.expected import held
from firedup.drafter.rowfit import pairs_of
from firedup.drafter.tell import everywhere, tensor_evidence
from firedup.drafter.vocabmap import holds_ids, read_offsets

IDS = {
    "head-rows-not-copied": "Head rows that the producer copies from the target are not its rows.",
    "head-rows-copied": "The head's rows are the target's: the map and the target are proven.",
}
COPIES = frozenset({"speculators"})
ENOUGH = 4


def check(case: Case) -> Iterator[CheckFinding]:
    """Compare the sampled rows with those that d2t leads to."""
    head, d2t, vocab = held(case, "lm_head.weight"), case.samples.d2t, case.target_facts.vocab
    if head is None or d2t is None or vocab is None or case.draft_facts.kind != "eagle3":
        return
    if holds_ids(d2t, vocab, case.samples.t2d):
        return
    pairs = pairs_of(
        case.samples.draft_head, case.samples.target_head, read_offsets(d2t, vocab).ids
    )
    equal = sum(left == right for left, right in pairs)
    if len(pairs) < ENOUGH:
        return
    evidence = (
        tensor_evidence(case.draft, head),
        Evidence("file", f"{equal} of {len(pairs)} sampled rows are equal to the target's rows"),
    )
    if equal == len(pairs):
        yield CheckFinding(
            "head-rows-copied",
            Harm.NOTE,
            "draft",
            "The head's rows are exactly the target's through d2t: map and target are proven.",
            evidence,
        )
    elif case.draft_facts.producer in COPIES:
        harm = Harm.RISK if equal > len(pairs) // 2 else Harm.SILENT_LOSS
        yield CheckFinding(
            "head-rows-not-copied",
            harm,
            "draft",
            f"{len(pairs) - equal} of {len(pairs)} head rows differ from the target's, which"
            f" {case.draft_facts.producer} copies.",
            evidence,
            everywhere(harm, "starts; the map is not this head's, or the target is another one"),
            "Use the target named in speculators_config.verifier, and the map of the training.",
        )
