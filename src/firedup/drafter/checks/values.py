"""Numbers in the drafter cannot be right: not finite, all zero, or as they were initialised.

One NaN in a norm or a head row makes every draft token of its rows useless; norms whose weights are
all exactly 1 were never trained, or were not saved by the trainer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from firedup.core.checked import CheckFinding, Harm
from firedup.core.model import Evidence
from firedup.drafter.case import Case
from firedup.drafter.expected import held
from firedup.drafter.tell import everywhere, some, tensor_evidence

IDS = {
    "values-not-finite": "Weights of the drafter hold NaN or infinity.",
    "values-all-zero": "Weights of the drafter are zero throughout.",
    "norms-never-trained": "All norms of the drafter hold exactly what they are initialised with.",
}
# What is said of one tensor, and of several.
_BROKEN = ("holds NaN or infinity", "hold NaN or infinity")
_EMPTY = ("is zero in all that was read", "are zero in all that was read")
_ONES = ("holds 1.0 throughout", "hold 1.0 throughout")
_MAPS = frozenset({"d2t", "t2d"})


def check(case: Case) -> Iterator[CheckFinding]:
    """Whole small tensors, and the sampled rows of big ones."""
    values = {name: [row] for name, row in case.samples.small.items() if name not in _MAPS}
    for name, rows in (
        ("lm_head.weight", case.samples.draft_head),
        ("embed_tokens.weight", case.samples.draft_embed),
        ("fc.weight", case.samples.draft_fc),
    ):
        if rows:
            values[name] = list(rows.values())
    rest = {name: list(rows.values()) for name, rows in case.samples.draft_rest.items()}
    broken = [name for name, rows in (values | rest).items() if not all(map(_is_finite, rows))]
    if broken:
        yield _finding(case, "values-not-finite", broken, _BROKEN)
    empty = [name for name in values if name not in broken and _is_empty(name, values[name])]
    if empty:
        yield _finding(case, "values-all-zero", empty, _EMPTY)
    norms = [name for name in values if name.endswith("norm.weight") and name not in broken]
    if len(norms) > 1 and all(set(values[name][0]) == {1.0} for name in norms):
        yield _finding(case, "norms-never-trained", norms, _ONES)


def _finding(case: Case, ident: str, names: list[str], what: tuple[str, str]) -> CheckFinding:
    tensors = [tensor for name in names[:6] if (tensor := held(case, name)) is not None]
    evidence = tuple(tensor_evidence(case.draft, tensor) for tensor in tensors)
    is_sure = ident != "norms-never-trained"
    harm = Harm.SILENT_LOSS if is_sure else Harm.RISK
    return CheckFinding(
        ident,
        harm,
        "draft",
        f"{some(names)} {what[0] if len(names) == 1 else what[1]}.",
        evidence or (Evidence("file", f"{case.draft.path}: {names[0]}"),),
        everywhere(harm, "starts; what these weights feed proposes nothing of use"),
        "Export the drafter again from a checkpoint of its training."
        if is_sure
        else "Ask whether the drafter was trained at all, and whether its norms were saved.",
    )


def _is_finite(row: tuple[float, ...]) -> bool:
    return math.isfinite(sum(map(abs, row)))


def _is_empty(name: str, rows: list[tuple[float, ...]]) -> bool:
    """Biases may be zero; of a head or an embedding, rows of tokens that never occur may be."""
    if name.endswith(".bias") or not rows:
        return False
    return not any(map(any, rows))
