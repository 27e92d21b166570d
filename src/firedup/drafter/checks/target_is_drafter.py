"""The target is itself an EAGLE-3 head.

Such a head has one layer or a few, no use without the model whose hidden states it reads, and an
architecture that engines take for a drafter alone. Mostly the two arguments were swapped.
"""

from __future__ import annotations

from collections.abc import Iterator

from firedup.core.checked import CheckFinding, Harm
from firedup.drafter.case import Case
from firedup.drafter.facts_draft import draft_facts
from firedup.drafter.tell import config_evidence, everywhere

ID = "target-is-drafter"


def check(case: Case) -> Iterator[CheckFinding]:
    """Read the target as if it were the drafter."""
    facts = draft_facts(case.target)
    if facts.kind != "eagle3":
        return
    is_swapped = case.draft_facts.kind in {"draft-model", "unknown"}
    hint = ": the two seem to be swapped" if is_swapped else ""
    yield CheckFinding(
        ID,
        Harm.CRASH,
        "target",
        f"The target is an EAGLE-3 head, which drafts and is no model to serve{hint}.",
        (config_evidence(case.target, "architectures", facts.architecture or None),),
        everywhere(Harm.CRASH, "does not load an EAGLE-3 head as the model to serve"),
        "Give the target first and the drafter second."
        if is_swapped
        else "Give the model that this head was trained for as the target.",
    )
