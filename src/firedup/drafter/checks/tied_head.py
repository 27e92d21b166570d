"""The config ties the head to the embedding, and the drafter has a head of its own.

With `tie_word_embeddings` SGLang takes the embedding, which it replaces by the target's, as the
drafter's head and passes over `lm_head.weight`. The first draft_vocab_size tokens then stand for
those of the map.
"""

from __future__ import annotations

from collections.abc import Iterator

from firedup.core.checked import CheckFinding, Harm
from firedup.drafter.case import Case
from firedup.drafter.expected import held, layer_config
from firedup.drafter.tell import config_evidence, llama_cpp, sglang, tensor_evidence, vllm

ID = "head-tied-to-embedding"
KEY = "tie_word_embeddings"


def is_tied_wrongly(case: Case) -> bool:
    """Whether the config ties what the files hold apart."""
    config = layer_config(case.draft)
    is_tied = config.get(KEY) is True or case.draft.config.get(KEY) is True
    return (
        is_tied
        and case.draft_facts.kind == "eagle3"
        and not case.draft.gguf
        and held(case, "lm_head.weight") is not None
    )


def check(case: Case) -> Iterator[CheckFinding]:
    """Only where a head lies in the files."""
    head = held(case, "lm_head.weight")
    if head is None or not is_tied_wrongly(case):
        return
    yield CheckFinding(
        ID,
        Harm.SILENT_LOSS,
        "draft",
        "config.json ties the head to the embedding, and the files hold a head.",
        (config_evidence(case.draft, KEY, "true"), tensor_evidence(case.draft, head)),
        (
            sglang(Harm.SILENT_LOSS, "takes the target's embedding for the head"),
            vllm(Harm.NOTE, "reads the head of the files"),
            llama_cpp(Harm.NOTE, "reads the head of the files"),
        ),
        f"Set {KEY} to false; --fix does it.",
        fixable=True,
    )
