"""Rejection sampling is asked for, and the drafter has a vocabulary of its own.

SGLang's rejection sampling compares the probabilities of both models token by token and refuses a
drafter that knows fewer tokens than the target.
"""

from __future__ import annotations

from collections.abc import Iterator

from firedup.core.checked import CheckFinding, Harm
from firedup.drafter.asked import asked_of, flag_evidence
from firedup.drafter.case import Case
from firedup.drafter.consequence import consequences
from firedup.drafter.expected import held
from firedup.drafter.tell import config_evidence

ID = "rejection-sampling-with-draft-vocabulary"


def check(case: Case) -> Iterator[CheckFinding]:
    """The flag against the drafter's vocabulary."""
    asked, facts = asked_of(case), case.draft_facts
    if asked is None or not asked.rejection_sampling or not facts.draft_vocab:
        return
    vocab = case.target_facts.vocab or facts.vocab
    if not vocab or facts.draft_vocab == vocab or held(case, "d2t") is None:
        return
    yield CheckFinding(
        ID,
        Harm.CRASH,
        "flags",
        f"The drafter knows {facts.draft_vocab:,} of {vocab:,} tokens.",
        (
            *flag_evidence(case, "speculative-use-rejection-sampling"),
            config_evidence(case.draft, "draft_vocab_size", facts.draft_vocab),
        ),
        consequences(ID),
        "Leave --speculative-use-rejection-sampling out.",
    )
