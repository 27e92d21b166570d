"""Drafters that others published for this target, with what they were measured to bring.

A note that is given when the target is one for which published drafters are known and the drafter
at hand is none of them. The figures are those of their publishers, at the settings named.
"""

from __future__ import annotations

from collections.abc import Iterator

from firedup.core.checked import CheckFinding, Harm
from firedup.core.model import Evidence
from firedup.drafter.case import Case
from firedup.drafter.names import can_be_same, model_name
from firedup.drafter.published import published

ID = "published-drafters"


def check(case: Case) -> Iterator[CheckFinding]:
    """Look the target up by its name, or by that which its files record."""
    if case.draft_facts.kind not in ("eagle3", "eagle"):
        return
    names = [case.target.path, str(case.target.config.get("_name_or_path") or "")]
    found = [
        one
        for one in published()
        if any(name and can_be_same(model_name(one.target), model_name(name)) for name in names)
    ]
    own = model_name(case.draft.path).lower()
    if not found or any(model_name(one.drafter).lower() == own for one in found):
        return
    yield CheckFinding(
        ID,
        Harm.NOTE,
        "draft",
        f"{len(found)} published drafter{'s' if len(found) > 1 else ''} for"
        f" {model_name(found[0].target)} {'are' if len(found) > 1 else 'is'} known:"
        f" {', '.join(one.drafter for one in found)}.",
        tuple(Evidence("public", f"{one.drafter}: {one.measured} ({one.source})") for one in found),
        remedy="Compare with one of them before you train further.",
    )
