"""The engine reads another rope base than the drafter's config means.

Transformers 5 writes `rope_parameters` where older versions wrote `rope_theta` and `rope_scaling`.
An engine that knows only the old keys takes 10000 for a base that is not there: SGLang before
0.5.10, vLLM before 0.12. Short texts hardly show it; with the length of the context it grows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from firedup.core.checked import CheckFinding, Harm
from firedup.drafter.case import Case
from firedup.drafter.config import inner
from firedup.drafter.consequence import as_asked, consequences
from firedup.drafter.expected import layer_config
from firedup.drafter.facts_target import text_config
from firedup.drafter.tell import config_evidence, everywhere

IDS = {
    "rope-parameters-not-read": "The rope base stands where older versions do not look for it.",
    "rope-theta-differs": "The drafter's config says two different rope bases.",
    "rope-theta-missing": "The drafter's config says no rope base.",
}
_DEFAULT = 10000.0


def check(case: Case) -> Iterator[CheckFinding]:
    """Compare the old key with the new one."""
    if case.draft_facts.kind not in ("eagle3", "eagle") or case.draft.gguf:
        return
    config = layer_config(case.draft)
    old, new = _theta(config), _theta(inner(config, "rope_parameters"))
    evidence = (
        config_evidence(case.draft, "rope_theta", old),
        config_evidence(case.draft, "rope_parameters.rope_theta", new),
    )
    if old is not None and new is not None and old != new:
        yield CheckFinding(
            "rope-theta-differs",
            Harm.RISK,
            "draft",
            f"rope_theta is {old:g} in one place and {new:g} in another.",
            evidence,
            everywhere(Harm.RISK, "takes one of them, by its version of Transformers"),
            "Write the base of the training in both places.",
        )
    elif old is None and new is not None and new != _DEFAULT:
        yield CheckFinding(
            "rope-parameters-not-read",
            Harm.SILENT_LOSS,
            "draft",
            f"The rope base {new:g} stands in rope_parameters alone.",
            evidence,
            as_asked(case, consequences("rope-parameters-not-read")),
            "Write rope_theta at the top of config.json, too.",
        )
    elif old is None and new is None and (_theta(_target(case)) or _DEFAULT) != _DEFAULT:
        yield CheckFinding(
            "rope-theta-missing",
            Harm.RISK,
            "draft",
            f"No rope base is said, so 10000 is taken; the target's is {_theta(_target(case)):g}.",
            (*evidence, config_evidence(case.target, "rope_theta", _theta(_target(case)))),
            everywhere(Harm.RISK, "takes 10000"),
            "Write down the base of the training.",
        )


def _target(case: Case) -> Mapping[str, Any]:
    language = text_config(case.target.config)
    return language if _theta(language) is not None else inner(language, "rope_parameters")


def _theta(config: Mapping[str, Any]) -> float | None:
    value = config.get("rope_theta")
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number and value is not None else None
