"""The drafter's vocab_size is not the target's.

`vocab_size` of a drafter is the number of the target's tokens, also where its own head is smaller
(`draft_vocab_size`). vLLM scatters the drafter's logits into a row of that length, so that an id
beyond it has no place; a longer row does no harm. Both engines look tokens up in an embedding: of
one that is shorter than the target's vocabulary the last tokens have no row. A plain draft model
must share all ids with its target.
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
    own = "a drafter of another vocabulary proposes what was right there"
    if said > wanted:
        harmless = f"has room for more tokens than there are; {own}"
        return sglang(Harm.RISK, harmless), vllm(Harm.RISK, harmless)
    ids = targets_of(case)
    if ids and max(ids) >= said:
        text = f"index out of range: d2t leads to {max(ids):,}, a row of draft logits has {said:,}"
        in_vllm = vllm(Harm.CRASH, text)
    elif embed is not None:
        text = f"its embedding has no row for a token from {said:,} on: a device-side assert there"
        in_vllm = vllm(Harm.CRASH, text)
    else:
        in_vllm = vllm(Harm.RISK, f"takes the target's embedding; {own}")
    return sglang(Harm.RISK, f"takes the target's embedding; {own}"), in_vllm


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
    ids = targets_of(case)
    is_within = ids is None or all(0 <= one < wanted for one in ids)
    return lengths <= {wanted} and is_within and bool(lengths or ids)


def targets_of(case: Case) -> tuple[int, ...] | None:
    """The tokens that d2t leads to, None where it could not be read."""
    d2t = case.samples.d2t
    return None if d2t is None else tuple([row + more for row, more in enumerate(d2t)])
