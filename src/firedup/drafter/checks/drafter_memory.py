"""How much memory the drafter takes on each rank.

The weights of a drafter are split over the ranks of tensor parallelism like those of the target,
and its KV cache comes on top; SGLang counts both against --mem-fraction-static.
"""

from __future__ import annotations

from collections.abc import Iterator

from firedup.core.checked import CheckFinding, Harm
from firedup.core.model import Evidence
from firedup.drafter.case import Case

ID = "drafter-memory"
_ELEMENT_BYTES = 2  # of the KV cache: BF16


def check(case: Case) -> Iterator[CheckFinding]:
    """A note, where the number of ranks is known."""
    ranks, facts = case.launch.tp, case.draft_facts
    if not ranks or facts.kind not in ("eagle3", "eagle", "mtp") or not case.draft.tensor_bytes:
        return
    size = case.draft.tensor_bytes
    message = f"The drafter's weights take {_size(size / ranks)} on each of {ranks} ranks."
    heads, per_head = facts.kv_heads, facts.head_dim
    if heads and per_head and not facts.is_mla:
        # Fewer heads than ranks are copied, so that each rank has one at least.
        on_rank = max(1, heads // ranks)
        per_token = 2 * (facts.layers or 1) * on_rank * per_head * _ELEMENT_BYTES
        message += f" Its KV cache takes {_size(per_token * 1000)} per 1,000 tokens."
    yield CheckFinding(
        ID,
        Harm.NOTE,
        "draft",
        message,
        (Evidence("file", f"{case.draft.path}: {_size(size)} of tensors"),),
    )


def _size(count: float) -> str:
    return f"{count / 1e9:,.2f} GB" if count >= 1e9 else f"{count / 1e6:,.1f} MB"
