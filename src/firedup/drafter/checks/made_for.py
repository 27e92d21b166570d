"""The drafter names another target as its own.

A drafter predicts what its own target would say. For the next version of a model it fits in every
shape and still proposes what the old one would have said: an acceptance length of 1.5 to 1.6 where
its own target gives 2.9 to 3.3, in a trial and in public reports. The same goes for a target that
was fine-tuned from the drafter's own; one that was quantised from it says nearly what it said.
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
    own, bases = _names_of_target(case), _bases_of_target(case)
    answers = {name: can_be_same(model_name(made_for or ""), name) for name in (*own, *bases)}
    is_same = any(answers[name] for name in own)
    is_copy = not is_same and any(answers[name] for name in bases)
    others = [name for name in own if answers[name] is False]
    # A base of the same family may be what the drafter's own target was made of, too.
    others += [name for name in bases if answers[name] is False and not _are_kin(made_for, name)]
    is_other_name = bool(others) and not is_same and not is_copy
    is_other_kind = bool(named and actual and named != actual)
    if not is_other_name and not is_other_kind and not is_copy:
        return
    target = others[0] if is_other_name else model_name(case.target.path)
    evidence = []
    if made_for:
        evidence.append(Evidence("file", f"{case.draft.path}: made for {made_for}"))
    if named:
        evidence.append(Evidence("file", f"{case.draft.path}: made for the architecture {named}"))
    evidence.append(Evidence("file", f"{config_of(case.target)}: {target}, {actual or 'unknown'}"))
    if is_copy and not is_other_kind:
        more = f", which {target} was trained further from."
    else:
        is_kin = _are_kin(made_for, target)
        more = f", not for {target}{': the same family, another version' if is_kin else ''}."
    text_of = "accepts what two models have in common: 1.5 to 1.6 instead of about 3"
    yield CheckFinding(
        ID,
        Harm.RISK,
        "draft",
        f"The drafter was made for {model_name(made_for or named or '')}{more}",
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
    """What the target may be called: by its place, its config, and its card if it is a repack."""
    names = [model_name(case.target.path)]
    if said := text(case.target.config, "_name_or_path"):
        names.append(model_name(said))
    if _is_repack(case):
        names += _on_card(case)
    return [name for name in names if name]


def _bases_of_target(case: Case) -> list[str]:
    """What the target was trained further from."""
    return [] if _is_repack(case) else _on_card(case)


def _is_repack(case: Case) -> bool:
    """Whether it holds the weights of its base in another form."""
    relation = inner(case.target.extra, "README.md").get("base_model_relation")
    if isinstance(relation, str):
        return relation == "quantized"
    return case.target_facts.quantization is not None or bool(case.target.gguf)


def _on_card(case: Case) -> list[str]:
    bases = inner(case.target.extra, "README.md").get("base_model")
    named = bases if isinstance(bases, list) else []
    return [name for base in named if isinstance(base, str) and (name := model_name(base))]


def _are_kin(one: str | None, other: str) -> bool:
    family = family_of(model_name(one or ""))
    return family is not None and family == family_of(other)
