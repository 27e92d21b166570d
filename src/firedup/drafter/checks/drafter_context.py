"""The drafter knows fewer positions than the served context has.

SGLang gives the drafter the target's context and ends if config.json allows less, unless
SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN is set. Where a server starts with it, what is proposed
beyond the drafter's own positions is seldom accepted.
"""

from __future__ import annotations

from collections.abc import Iterator

from firedup.core.checked import CheckFinding, Consequence, Harm
from firedup.core.model import Evidence
from firedup.drafter.asked import asked_of, flag_evidence
from firedup.drafter.case import Case
from firedup.drafter.consequence import consequences, worst_of
from firedup.drafter.tell import config_evidence

ID = "drafter-context-too-short"
ALLOWED = "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN"


def served_context(case: Case) -> int | None:
    """The context that is asked for, else that of the target."""
    asked = asked_of(case)
    return (asked.context if asked else None) or case.target_facts.max_positions


def check(case: Case) -> Iterator[CheckFinding]:
    """Compare the positions."""
    own, served = case.draft_facts.max_positions, served_context(case)
    if case.draft_facts.kind not in ("eagle3", "eagle", "mtp") or not own or not served:
        return
    if case.draft.gguf or served <= own:
        return
    is_allowed = case.launch.env.get(ALLOWED, "").lower() in ("1", "true", "yes")
    found = tuple(one for one in consequences(ID) if not (is_allowed and one.engine == "sglang"))
    if is_allowed:
        found += consequences("drafter-context-overridden", engine="sglang")
    asked = asked_of(case)
    if asked is None and not case.launch.argv:
        # The command may well ask for less than the target can.
        found = tuple(
            Consequence(one.engine, one.versions, max(one.harm, Harm.RISK, key=_rank), one.text)
            for one in found
        )
    allowed = (Evidence("command", f"{ALLOWED}=1"),) if is_allowed else ()
    yield CheckFinding(
        ID,
        worst_of(found, Harm.RISK),
        "draft",
        f"The context has {served:,} positions, the drafter knows {own:,}.",
        (
            config_evidence(case.draft, "max_position_embeddings", own),
            config_evidence(
                case.target, "max_position_embeddings", case.target_facts.max_positions
            ),
            *flag_evidence(case, "context-length", "max-model-len"),
            *allowed,
        ),
        found,
        f"Serve a context of {own:,} at most, or set {ALLOWED}=1 in SGLang and measure"
        " acceptance on long prompts.",
    )


def _rank(harm: Harm) -> int:
    return harm.rank
