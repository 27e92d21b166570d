"""A tensor that the drafter needs is not in its files.

SGLang's loader goes through what a file holds, and vLLM does not check EAGLE-3 drafters for weights
that nobody set: the tensor keeps what it was initialised with, the server comes up, and next to no
draft token is accepted. Of MTP heads and of models that draft by themselves vLLM misses the norms
and the embedding, and not always a matrix.
"""

from __future__ import annotations

from collections.abc import Iterator

from firedup.core.checked import CheckFinding, Consequence, Harm
from firedup.core.model import Evidence
from firedup.drafter.canonical import canonical_name
from firedup.drafter.case import Case
from firedup.drafter.expected import expected_tensors, held, is_split
from firedup.drafter.facts_target import quantization_of
from firedup.drafter.rename import renames_of
from firedup.drafter.tell import file_of, llama_cpp, sglang, shape_text, under, vllm

ID = "tensor-missing"
# What other checks say with more words.
_ELSEWHERE = frozenset({"d2t"})


def missing_tensors(case: Case) -> tuple[str, ...]:
    """Canonical names of required tensors that the drafter's files do not hold."""
    expected = expected_tensors(case)
    if expected is None or case.draft.gguf or case.draft.damages or not case.draft.tensors:
        return ()
    return tuple(
        name
        for name in expected.required
        if name not in _ELSEWHERE and held(case, name) is None and not is_split(case, name)
    )


def check(case: Case) -> Iterator[CheckFinding]:
    """One finding for all that is missing."""
    missing = missing_tensors(case)
    expected = expected_tensors(case)
    if not missing or expected is None:
        return
    found = {canonical_name(wanted): name for name, wanted in renames_of(case).items()}
    evidence = [
        Evidence("file", f"{file_of(case.draft, _file(case))}: {_line(name, expected.required)}")
        for name in missing[:8]
    ]
    evidence += [
        Evidence("file", f"{file_of(case.draft, _file(case))}: {found[name]} would be {name}")
        for name in missing[:2]
        if name in found
    ]
    count = f"{len(missing)} tensors are" if len(missing) > 1 else "A tensor is"
    yield CheckFinding(
        ID,
        Harm.SILENT_LOSS,
        "draft",
        f"{count} missing{under(missing)}.",
        tuple(evidence),
        _consequences(case, missing),
        "Give the tensors the names that engines read; --fix does it."
        if all(name in found for name in missing)
        else "Export the drafter again with all its tensors, or use another copy of it.",
        fixable=all(name in found for name in missing),
    )


def _consequences(case: Case, missing: tuple[str, ...]) -> tuple[Consequence, ...]:
    starts = "starts without a word; the tensor keeps its initial values"
    facts = case.draft_facts
    in_vllm: tuple[Consequence, ...]
    if missing == ("lm_head.weight",) and facts.draft_vocab == facts.vocab:
        shared = "takes the target's head"
        return (
            sglang(Harm.SILENT_LOSS, starts),
            vllm(Harm.NOTE, shared),
            llama_cpp(Harm.NOTE, shared),
        )
    if "embed_tokens.weight" in missing:  # which is required where the target's is too wide
        early = "an AssertionError at start-up: hidden states and embeddings differ in width"
        in_vllm = vllm(Harm.CRASH, early, "<0.22"), vllm(Harm.SILENT_LOSS, starts, ">=0.22")
    elif _is_missed(case, missing):
        in_vllm = (vllm(Harm.CRASH, "Following weights were not initialized from checkpoint: …"),)
    else:
        in_vllm = (vllm(Harm.SILENT_LOSS, starts),)
    return (
        sglang(Harm.SILENT_LOSS, starts),
        *in_vllm,
        llama_cpp(Harm.CRASH, "the converter or the loader misses a tensor"),
    )


def _is_missed(case: Case, missing: tuple[str, ...]) -> bool:
    """Whether vLLM is sure to notice, which looks for tensors that no quantisation could make."""
    if case.draft_facts.kind not in {"mtp", "draft-model"} or quantization_of(case.draft):
        return False
    return any("norm" in name or "embed_tokens" in name for name in missing)


def _line(name: str, shapes: object) -> str:
    shape = shapes[name] if isinstance(shapes, dict) else ()
    known = tuple(size for size in shape if size is not None)
    return f"no {name}" + (f" {shape_text(known)}" if shape and len(known) == len(shape) else "")


def _file(case: Case) -> str:
    """The file that names the tensors: the index, or the only one."""
    files = sorted({tensor.file for tensor in case.draft.tensors.values()})
    return files[0] if len(files) == 1 else "model.safetensors.index.json"
