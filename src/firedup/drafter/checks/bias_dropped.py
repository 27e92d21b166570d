"""The drafter has biases that engines do not read.

vLLM drops the biases of a drafter without a word, and SGLang builds one for fc alone, if the config
says `bias`. What was trained with them is served without.
"""

from __future__ import annotations

from collections.abc import Iterator

from firedup.core.checked import CheckFinding, Harm
from firedup.drafter.case import Case
from firedup.drafter.expected import expected_tensors, held
from firedup.drafter.tell import config_evidence, llama_cpp, sglang, some, tensor_evidence, vllm

ID = "bias-not-read"


def check(case: Case) -> Iterator[CheckFinding]:
    """Biases that are there and are not zero throughout."""
    expected = expected_tensors(case)
    if expected is None or case.draft_facts.kind != "eagle3" or case.draft.gguf:
        return
    tensors = [
        tensor
        for name in expected.optional
        if name.endswith(".bias") and (tensor := held(case, name)) is not None
        if any(case.samples.small.get(name, (1.0,)))
    ]
    if not tensors:
        return
    config = case.draft.config
    is_fc_alone = all(tensor.name.endswith("fc.bias") for tensor in tensors)
    has_flag = is_fc_alone and config.get("bias") is True
    has_attention = config.get("attention_bias") is True and not any(
        tensor.name.endswith("fc.bias") for tensor in tensors
    )
    lost = "drops them without a word"
    yield CheckFinding(
        ID,
        Harm.SILENT_LOSS,
        "draft",
        f"The drafter was trained with {some(tensor.name for tensor in tensors)}.",
        (
            *(tensor_evidence(case.draft, tensor) for tensor in tensors[:4]),
            config_evidence(case.draft, "bias", config.get("bias")),
            config_evidence(case.draft, "attention_bias", config.get("attention_bias")),
        ),
        (
            sglang(Harm.NOTE, "reads the bias of fc") if has_flag else sglang(_LOSS, lost),
            vllm(Harm.NOTE, "reads the biases of attention")
            if has_attention
            else vllm(_LOSS, lost),
            llama_cpp(Harm.CRASH, "the converter does not know them"),
        ),
        "Serve it with an engine that reads them, or train without biases.",
    )


_LOSS = Harm.SILENT_LOSS
