"""A tensor has not the shape that the drafter's config asks for.

The first layer of an EAGLE-3 drafter reads the embedding beside the hidden state, so its attention
takes twice the hidden size; heads times head_dim, and intermediate_size, must be as configured.
Engines find out when they copy the tensor, after the target was loaded. Of a model that drafts by
itself its first and last layer are looked at, of an MTP head what joins its two inputs.
"""

from __future__ import annotations

from collections.abc import Iterator

from firedup.core.checked import CheckFinding, Harm
from firedup.drafter.case import Case
from firedup.drafter.checkpoint import Tensor
from firedup.drafter.expected import BENIGN, expected_tensors, held
from firedup.drafter.layershape import Shape
from firedup.drafter.tell import everywhere, shape_text, some, tensor_evidence

ID = "tensor-shape-wrong"
# Other checks say more about these.
_ELSEWHERE = frozenset({"lm_head.weight", "d2t", "t2d"})
_SIZES = "hidden_size, num_attention_heads, num_key_value_heads, head_dim, intermediate_size"


def check(case: Case) -> Iterator[CheckFinding]:
    """One finding for all tensors that differ from what the config says."""
    wrong = list(_wrong(case))
    if not wrong:
        return
    names = some(tensor.name for tensor, _ in wrong)
    count = f"{len(wrong)} tensors have" if len(wrong) > 1 else "A tensor has"
    evidence = tuple(
        tensor_evidence(case.draft, tensor, f"config.json asks for {_text(shape)}")
        for tensor, shape in wrong[:8]
    )
    yield CheckFinding(
        ID,
        Harm.CRASH,
        "draft",
        f"{count} another shape than the config asks for: {names}.",
        evidence,
        everywhere(Harm.CRASH, "Attempted to load weight (…) into parameter (…), or a shape error"),
        f"Let config.json say what the drafter was trained with ({_SIZES}).",
    )


def _wrong(case: Case) -> Iterator[tuple[Tensor, Shape]]:
    expected = expected_tensors(case)
    if expected is None or case.draft.gguf:
        return
    for canonical in case.draft_facts.names:
        tensor, shape = held(case, canonical), expected.shape_of(canonical)
        if tensor is None or shape is None or canonical in _ELSEWHERE or BENIGN.search(tensor.name):
            continue
        if canonical == "fc.weight" and tensor.shape[:1] == shape[:1]:
            continue  # fc_width says what its columns mean
        if canonical == "embed_tokens.weight" and tensor.shape[1:] == shape[1:]:
            continue  # vocab_size compares its rows with the target's
        same = len(tensor.shape) == len(shape) and all(
            size in {None, length} for length, size in zip(tensor.shape, shape, strict=True)
        )
        if not same:
            yield tensor, shape


def _text(shape: Shape) -> str:
    known = [size if size is not None else 0 for size in shape]
    return shape_text(known).replace("0]", "any]") if None in shape else shape_text(known)
