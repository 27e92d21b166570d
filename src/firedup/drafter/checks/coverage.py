"""The text that is served has tokens that the drafter can never propose.

A drafter with a vocabulary of its own drafts the tokens of its map alone. Each other token of a
text ends a draft, however well the drafter was trained: the share of the text that the map covers
bounds the acceptance length. Maps of 32,000 tokens cover about 97 % of the text that they were made
of; a map of English text covered so little of Chinese that a drafter for Kimi-K2.5 fell to 1.48.
Told where a file of token ids is given.
"""

from __future__ import annotations

from collections.abc import Iterator

from firedup.core.checked import CheckFinding, Harm
from firedup.core.model import Evidence
from firedup.drafter.asked import asked_of
from firedup.drafter.case import Case
from firedup.drafter.expected import held
from firedup.drafter.tell import everywhere, some, tensor_evidence
from firedup.drafter.vocabmap import holds_ids, read_offsets

ID = "draft-vocabulary-coverage"
ENOUGH = 0.95
_STEPS = 3
_SHOWN = 5


def check(case: Case) -> Iterator[CheckFinding]:
    """Count the tokens of the text that the map leads to."""
    d2t, vocab, tensor = case.samples.d2t, case.target_facts.vocab, held(case, "d2t")
    if not case.tokens or d2t is None or vocab is None or tensor is None:
        return
    has_ids = holds_ids(d2t, vocab, case.samples.t2d)
    known = set(d2t if has_ids else read_offsets(d2t, vocab).ids)
    total = sum(case.tokens.values())
    absent = {i: count for i, count in case.tokens.items() if i not in known}
    share = 1 - sum(absent.values()) / total
    asked = asked_of(case)
    steps = (asked.steps if asked else None) or _STEPS
    most = sum(share**number for number in range(min(steps, 64) + 1))
    harm = Harm.NOTE if share >= ENOUGH else Harm.RISK
    frequent = sorted(absent, key=lambda i: -absent[i])[:_SHOWN]
    listed = some(f"{i} ({absent[i] / total:.2%})" for i in frequent)
    yield CheckFinding(
        ID,
        harm,
        "draft",
        f"The map covers {share:.1%} of the text's {total:,} tokens.",
        (
            tensor_evidence(case.draft, tensor, f"{len(known):,} of {vocab:,} tokens"),
            *([Evidence("file", f"most frequent of the others: {listed}")] if absent else []),
        ),
        everywhere(harm, f"accepts {most:.2f} tokens a step at most, with {steps} drafted"),
        "Build a map that counts this text, move the head's rows to it, and train on."
        if harm is Harm.RISK
        else None,
    )
