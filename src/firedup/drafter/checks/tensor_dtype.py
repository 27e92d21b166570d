"""A tensor's numbers are of a kind that cannot be right.

Weights are BF16, F16 or F32 unless the drafter's config names a quantisation; d2t holds whole
numbers, t2d truth values. A d2t of floats is added to row numbers and gives ids that are no ids.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from firedup.core.checked import CheckFinding, Consequence, Harm
from firedup.drafter.case import Case
from firedup.drafter.checkpoint import Tensor
from firedup.drafter.checks.tensor_unknown import BY_KEY, BY_MODULE
from firedup.drafter.expected import BENIGN, held
from firedup.drafter.tell import everywhere, llama_cpp, sglang, some, tensor_evidence, vllm

IDS = {
    "tensor-dtype-wrong": "Weights have a dtype that no quantisation of the config explains.",
    "d2t-not-integer": "d2t does not hold whole numbers.",
    "t2d-not-boolean": "t2d does not hold truth values.",
}
_FLOATS = frozenset({"BF16", "F16", "F32"})
_WHOLE = frozenset({"I64", "I32", "I16", "I8", "U8", "U16", "U32"})
_EXACT = frozenset({"F32", "F64"})  # of any token id
_SCALE = re.compile(r"scale(_inv)?$|[._]scales$")


def check(case: Case) -> Iterator[CheckFinding]:
    """The maps, then everything else."""
    if case.draft.gguf:
        return
    d2t, t2d = held(case, "d2t"), held(case, "t2d")
    if d2t is not None and d2t.dtype not in _WHOLE:
        yield CheckFinding(
            "d2t-not-integer",
            Harm.CRASH,
            "draft",
            f"d2t holds {d2t.dtype} instead of whole numbers.",
            (tensor_evidence(case.draft, d2t),),
            (
                sglang(Harm.CRASH, "indexing with it ends with an error"),
                vllm(Harm.NOTE, "casts it when it loads")
                if d2t.dtype in _EXACT
                else vllm(Harm.SILENT_LOSS, "casts it when it loads; great numbers were rounded"),
                llama_cpp(Harm.CRASH, "the converter refuses it"),
            ),
            "Store d2t as int64 offsets.",
        )
    if t2d is not None and t2d.dtype not in {"BOOL", "U8"}:
        yield CheckFinding(
            "t2d-not-boolean",
            Harm.NOTE,
            "draft",
            f"t2d holds {t2d.dtype} instead of truth values; it is used in training alone.",
            (tensor_evidence(case.draft, t2d),),
            everywhere(Harm.NOTE, "does not read t2d"),
        )
    if _is_quantised(case):
        return
    wrong = [tensor for tensor in case.draft.tensors.values() if _is_wrong(case, tensor)]
    if wrong:
        yield CheckFinding(
            "tensor-dtype-wrong",
            Harm.SILENT_LOSS,
            "draft",
            f"Weights without a quantisation in config.json hold {_kinds(wrong)}:"
            f" {some(tensor.name for tensor in wrong)}.",
            tuple(tensor_evidence(case.draft, tensor) for tensor in wrong[:8]),
            _consequences(case, wrong),
            "Export the drafter in BF16, or with the quantization_config that it was made with.",
        )


def _consequences(case: Case, wrong: list[Tensor]) -> tuple[Consequence, ...]:
    """Doubles are rounded; all else is copied as it is, and the scales beside it have no place."""
    if all(tensor.dtype == "F64" for tensor in wrong):
        return everywhere(Harm.NOTE, "rounds them when it loads")
    copies = "copies the stored numbers into float weights"
    scale = next((t.name for t in case.draft.tensors.values() if _SCALE.search(t.name)), None)
    if scale is None:
        return everywhere(Harm.SILENT_LOSS, copies)
    return (
        sglang(Harm.SILENT_LOSS, f"{copies}, and passes over their scales"),
        vllm(Harm.CRASH, f"KeyError: '{scale}'", BY_KEY),
        vllm(Harm.CRASH, "There is no module or parameter named '…scale'", BY_MODULE),
        llama_cpp(Harm.CRASH, "the converter cannot map the scales"),
    )


def _is_quantised(case: Case) -> bool:
    config = case.draft.config
    if config.get("quantization_config") or config.get("compression_config"):
        return True
    return "hf_quant_config.json" in case.draft.extra


def _is_wrong(case: Case, tensor: Tensor) -> bool:
    maps = {case.draft_facts.names.get("d2t"), case.draft_facts.names.get("t2d")}
    return (
        tensor.name.endswith((".weight", ".bias"))
        and tensor.name not in maps
        and tensor.dtype not in _FLOATS
        and not BENIGN.search(tensor.name)
    )


def _kinds(tensors: list[Tensor]) -> str:
    return " and ".join(sorted({tensor.dtype for tensor in tensors}))
