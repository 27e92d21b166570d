"""The drafter names another target as its own.

A drafter predicts what its own target would say. For the next version of a model it fits in every
shape and still proposes what the old one would have said: an acceptance length of 1.5 to 1.6 where
its own target gives 2.9 to 3.3, in a trial and in public reports.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from firedup.core.checked import CheckFinding, Harm
from firedup.core.model import Evidence
from firedup.drafter.case import Case
from firedup.drafter.config import inner, text
from firedup.drafter.names import can_be_same, family_of, model_name
from firedup.drafter.tell import config_of, everywhere

ID = "made-for-another-target"


def check(case: Case) -> Iterator[CheckFinding]:
    """Compare the name that the drafter records with the target's."""
    made_for = case.draft_facts.made_for
    named = _architecture(case.draft.config)
    actual = case.target_facts.architecture
    names = _names_of_target(case)
    answers = [can_be_same(model_name(made_for), name) for name in names] if made_for else []
    is_other_name = False in answers and True not in answers
    is_other_kind = bool(named and actual and named != actual)
    if not is_other_name and not is_other_kind:
        return
    target = names[answers.index(False)] if is_other_name else model_name(case.target.path)
    evidence = []
    if made_for:
        evidence.append(Evidence("file", f"{case.draft.path}: made for {made_for}"))
    if named:
        evidence.append(Evidence("file", f"{case.draft.path}: made for the architecture {named}"))
    evidence.append(Evidence("file", f"{config_of(case.target)}: {target}, {actual or 'unknown'}"))
    families = {family_of(model_name(made_for or "")), family_of(target)}
    is_kin = len(families) == 1 and None not in families
    text_of = "accepts what two models have in common: 1.5 to 1.6 instead of about 3"
    yield CheckFinding(
        ID,
        Harm.RISK,
        "draft",
        f"The drafter was made for {model_name(made_for or named or '')}, not for {target}"
        + (": the same family, another version." if is_kin else "."),
        tuple(evidence),
        everywhere(Harm.RISK, text_of),
        "Use a drafter that was made for this target, or fine-tune this one on its answers.",
    )


def _architecture(config: Mapping[str, Any]) -> str | None:
    verifier = inner(inner(config, "speculators_config"), "verifier")
    found = verifier.get("architectures")
    first = found[0] if isinstance(found, list) and found else None
    return first if isinstance(first, str) else None


def _names_of_target(case: Case) -> list[str]:
    """What the target may be called: by its place, its config, its card."""
    names = [model_name(case.target.path)]
    if said := text(case.target.config, "_name_or_path"):
        names.append(model_name(said))
    bases = inner(case.target.extra, "README.md").get("base_model")
    if isinstance(bases, list):
        names += [model_name(base) for base in bases if isinstance(base, str)]
    return [name for name in names if name]
