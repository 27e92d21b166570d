"""The drafter's vocab_size is not the target's.

`vocab_size` of a drafter is the number of the target's tokens, also where its own head is smaller
(`draft_vocab_size`). vLLM scatters the drafter's logits into a row of that length; a plain draft
model must share all ids with its target.
"""

from __future__ import annotations

from collections.abc import Iterator

from firedup.core.checked import CheckFinding, Consequence, Harm
from firedup.drafter.case import Case
from firedup.drafter.expected import held
from firedup.drafter.tell import config_evidence, llama_cpp, sglang, vllm

ID = "vocab-size-differs"


def check(case: Case) -> Iterator[CheckFinding]:
    """Compare both configs; vLLM refuses a plain draft model even when only padding differs."""
    wanted, said = case.target_facts.vocab, case.draft_facts.vocab
    if wanted is None or said is None or wanted == said or case.draft.gguf:
        return
    is_eagle = case.draft_facts.kind in {"eagle3", "eagle", "mtp"}
    consequences = _of_head(case, wanted, said) if is_eagle else _of_model()
    evidence = (
        config_evidence(case.draft, "vocab_size", said),
        config_evidence(case.target, "vocab_size", wanted),
    )
    yield CheckFinding(
        ID,
        Harm.RISK,
        "draft",
        f"The drafter's config speaks of {said:,} tokens, the target has {wanted:,}.",
        evidence,
        consequences,
        "Set the drafter's vocab_size to the target's." if is_eagle else _REMEDY_MODEL,
        fixable=is_eagle and _is_config_alone(case, wanted),
    )


_REMEDY_MODEL = "Use a draft model with the target's tokenizer."


def _of_head(case: Case, wanted: int, said: int) -> tuple[Consequence, ...]:
    embed = held(case, "embed_tokens.weight")
    if embed is not None and embed.shape and embed.shape[0] != said:
        text = "the embedding's rows are not vocab_size: an assertion about org_vocab_size"
        return sglang(Harm.CRASH, text), vllm(Harm.CRASH, text)
    size = "shorter" if said < wanted else "longer"
    harm = Harm.CRASH if said < wanted else Harm.RISK
    return (
        sglang(Harm.RISK, "takes the target's embedding, whose size is not the one configured"),
        vllm(harm, f"writes draft logits into a row {size} than the target's: index out of range"),
    )


def _of_model() -> tuple[Consequence, ...]:
    return (
        sglang(Harm.RISK, "proposes ids of another vocabulary"),
        vllm(Harm.CRASH, "Target and draft model should have the same vocabulary size"),
        llama_cpp(Harm.SILENT_LOSS, "serves without speculation when the vocabularies differ"),
    )


def _is_config_alone(case: Case, wanted: int) -> bool:
    """Whether every tensor with a row or an entry for each token agrees with the target."""
    sized = [held(case, name) for name in ("embed_tokens.weight", "t2d")]
    lengths = {tensor.shape[0] for tensor in sized if tensor is not None and tensor.shape}
    ids = case.samples.d2t
    is_within = ids is None or all(0 <= row + more < wanted for row, more in enumerate(ids))
    return lengths <= {wanted} and is_within and bool(lengths or ids)
