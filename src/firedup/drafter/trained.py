"""Which hidden states of the target a drafter was trained on, as far as its config shows."""

from __future__ import annotations

from firedup.drafter.case import Case

# Producers that write the number of the layer whose output is read.
_OUTPUT = ("specforge", "modelopt", "torchspec")


def trained_states(case: Case, layers: int) -> tuple[tuple[int, ...], str, bool]:
    """The states of the training, what tells it, and whether it is sure; () = not known."""
    ids, producer = case.draft_facts.layer_ids, case.draft_facts.producer
    if not ids:
        return (), "", False
    after = tuple(sorted(k + 1 for k in ids))
    if producer == "speculators":
        return tuple(sorted(ids)), "by the meaning of speculators", True
    if ids == (1, layers // 2 - 1, layers - 4):
        return after, "since its ids are those that SpecForge and ModelOpt write by default", True
    if ids == (2, layers // 2, layers - 3):
        return ids, "if its ids mean what engines take by default", False
    if producer in _OUTPUT:
        return after, f"if its ids mean what {producer} means", producer == "modelopt"
    return (), "", False
