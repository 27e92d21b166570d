"""Target and drafter are configured for different floats.

SGLang loads each model in the dtype of its own config unless `--dtype` says one for both; hidden
states of one kind then meet weights of another. vLLM loads the drafter in the target's dtype.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from firedup.core.checked import CheckFinding, Harm
from firedup.drafter.asked import asked_of, flag_evidence
from firedup.drafter.case import Case
from firedup.drafter.config import text
from firedup.drafter.consequence import consequences
from firedup.drafter.expected import layer_config
from firedup.drafter.facts_target import text_config
from firedup.drafter.tell import config_evidence

ID = "drafter-dtype-differs"
_HALF = frozenset({"float16", "bfloat16"})


def check(case: Case) -> Iterator[CheckFinding]:
    """Compare the dtypes of the configs, where no flag says one for both."""
    asked, dtypes = asked_of(case), differing_dtypes(case)
    if dtypes is None or (asked is not None and asked.dtype not in (None, "auto")):
        return
    target, own = dtypes
    yield CheckFinding(
        ID,
        Harm.RISK,
        "draft",
        f"The target is configured for {target}, the drafter for {own}.",
        (
            config_evidence(case.target, "torch_dtype", target),
            config_evidence(case.draft, "torch_dtype", own),
            *flag_evidence(case, "dtype"),
        ),
        consequences(ID),
        f"Add --dtype {target}.",
    )


def differing_dtypes(case: Case) -> tuple[str, str] | None:
    """The dtypes of target and drafter where both are halves and not the same."""
    if case.draft_facts.kind not in ("eagle3", "eagle") or case.draft.gguf or case.target.gguf:
        return None
    target = _dtype(text_config(case.target.config)) or _dtype(case.target.config)
    own = _dtype(case.draft.config) or _dtype(layer_config(case.draft))
    # Without a flag SGLang takes float16 for float32.
    if not target or not own or target == own or {target, own} - _HALF:
        return None
    return target, own


def _dtype(config: Mapping[str, Any]) -> str | None:
    return text(config, "torch_dtype", "dtype")
