"""draft_vocab_size, the head's rows and d2t do not agree on how many tokens are drafted.

Four things say it: `draft_vocab_size` in config.json, the rows of `lm_head.weight`, the length of
`d2t` and the count of true values in `t2d`. SGLang reads the config key without a default and ends
with an AttributeError where it is absent.
"""

from __future__ import annotations

from collections.abc import Iterator

from firedup.core.checked import CheckFinding, Harm
from firedup.core.model import Evidence
from firedup.drafter.case import Case
from firedup.drafter.expected import held
from firedup.drafter.tell import (
    config_evidence,
    everywhere,
    llama_cpp,
    sglang,
    tensor_evidence,
    vllm,
)

IDS = {
    "draft-vocab-size-wrong": "Config, head and map disagree on how many tokens are drafted.",
    "draft-vocab-size-missing": "config.json does not say draft_vocab_size.",
}
KEY = "draft_vocab_size"


def rows_of(case: Case) -> int | None:
    """How many tokens the drafter's tensors say it drafts: head and map agree, None otherwise."""
    counts = {
        tensor.shape[0]
        for name in ("lm_head.weight", "d2t")
        if (tensor := held(case, name)) is not None and tensor.shape
    }
    return counts.pop() if len(counts) == 1 else None


def check(case: Case) -> Iterator[CheckFinding]:
    """Compare all that say it."""
    if case.draft_facts.kind != "eagle3" or case.draft.gguf or not case.draft.config:
        return
    said = case.draft_facts.draft_vocab
    rows, head, d2t = rows_of(case), held(case, "lm_head.weight"), held(case, "d2t")
    tensors = [tensor for tensor in (head, d2t) if tensor is not None and tensor.shape]
    evidence = [tensor_evidence(case.draft, tensor) for tensor in tensors]
    if said is None:
        if KEY not in case.draft.config or (rows and rows != case.draft_facts.vocab):
            yield _missing(case, rows, evidence)
        return
    counts = {said, *(tensor.shape[0] for tensor in tensors)}
    marked = case.samples.t2d
    if marked is not None and held(case, "t2d") is not None and d2t is None:
        evidence.append(Evidence("file", f"t2d marks {len(marked):,} tokens"))
        counts.add(len(marked))
    if len(counts) == 1:
        return
    yield CheckFinding(
        "draft-vocab-size-wrong",
        Harm.CRASH,
        "draft",
        f"The number of drafted tokens is not one: {', '.join(f'{n:,}' for n in sorted(counts))}.",
        (config_evidence(case.draft, KEY, said), *evidence),
        everywhere(
            Harm.CRASH, "the head's rows are not those configured: an assertion, or a shape error"
        ),
        f"Set draft_vocab_size to {rows:,}, which head and map agree on."
        if rows
        else "Head and map come from different exports; export the drafter again.",
        fixable=rows is not None,
    )


def _missing(case: Case, rows: int | None, evidence: list[Evidence]) -> CheckFinding:
    is_reduced = bool(rows and rows != case.draft_facts.vocab)
    has_key = KEY in case.draft.config
    text = "AttributeError: … has no attribute 'draft_vocab_size'"
    other = "takes the target's whole head"
    return CheckFinding(
        "draft-vocab-size-missing",
        Harm.CRASH,
        "draft",
        f"config.json does not say draft_vocab_size; the head has {rows:,} rows."
        if rows
        else "config.json does not say draft_vocab_size.",
        (config_evidence(case.draft, KEY, None), *evidence),
        (
            sglang(Harm.SILENT_LOSS, other) if has_key else sglang(Harm.CRASH, text),
            vllm(Harm.CRASH, "loads a head of another size: an assertion about org_vocab_size")
            if is_reduced
            else vllm(Harm.NOTE, "takes vocab_size for it"),
            llama_cpp(Harm.CRASH, "is not taken for an EAGLE-3 drafter")
            if is_reduced
            else llama_cpp(Harm.NOTE, "takes vocab_size for it"),
        ),
        f"Set draft_vocab_size to {rows:,}." if rows else "Set draft_vocab_size.",
        fixable=rows is not None,
    )
