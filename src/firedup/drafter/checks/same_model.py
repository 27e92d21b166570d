"""The drafter is the target, or a copy of it.

A token of the drafter then costs what a token of the target costs, so speculation is slower than
none however many tokens are accepted, and the weights take memory twice. A model with prediction
layers of its own is given as its own drafter on purpose, and is left alone.
"""

from __future__ import annotations

from collections.abc import Iterator

from firedup.core.checked import CheckFinding, Harm
from firedup.core.model import Evidence
from firedup.drafter.case import Case
from firedup.drafter.config import whole
from firedup.drafter.facts_target import text_config
from firedup.drafter.tell import file_of

ID = "same-model"
_OWN_LAYERS = ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_layers")


def check(case: Case) -> Iterator[CheckFinding]:
    """Compare where the two lie, and else their configs and all headers."""
    one, other = case.target, case.draft
    if case.draft_facts.kind not in {"draft-model", "unknown"}:
        return
    if any(whole(place, *_OWN_LAYERS) for place in (other.config, text_config(other.config))):
        return
    is_place = (one.host, one.path.rstrip("/")) == (other.host, other.path.rstrip("/"))
    is_copy = bool(one.tensors) and (
        (one.config, one.gguf, one.tensors, one.tensor_count)
        == (other.config, other.gguf, other.tensors, other.tensor_count)
    )
    if not (is_place or is_copy):
        return
    shown = "the target and the drafter" if is_place else "the same config and tensors as"
    text = f"{shown}: {file_of(other, '')}" if is_place else f"{file_of(other, '')}: {shown}"
    yield CheckFinding(
        ID,
        Harm.RISK,
        "draft",
        "The drafter is the same model as the target, or one just as big: it never pays.",
        (Evidence("file", text if is_place else f"{text} {file_of(one, '')}"),),
        (),
        "Use a drafter that is much smaller than the target.",
    )
