"""The drafter inherits an attention backend that is made for the target's attention alone.

A target with multi-head latent attention (DeepSeek, Kimi) runs on backends that a Llama drafter
with plain attention cannot use. SGLang gives the drafter the target's backend unless it is told
otherwise: Kimi-K2.6 with such a drafter failed at start-up.
"""

from __future__ import annotations

from collections.abc import Iterator

from firedup.core.checked import CheckFinding, Harm
from firedup.drafter.asked import asked_of, flag_evidence
from firedup.drafter.case import Case
from firedup.drafter.consequence import consequences, worst_of
from firedup.drafter.tell import config_evidence

ID = "attention-backend-inherited"
# Backends of SGLang that serve latent attention and nothing else.
LATENT = frozenset(
    {"trtllm_mla", "flashmla", "cutlass_mla", "cutedsl_mla", "tokenspeed_mla", "nsa", "dsa", "dsv4"}
)


def needs_own_backend(case: Case) -> bool:
    """Whether target and drafter have different kinds of attention."""
    drafts_plain = case.draft_facts.kind in ("eagle3", "eagle") and not case.draft_facts.is_mla
    return case.target_facts.is_mla and drafts_plain


def check(case: Case) -> Iterator[CheckFinding]:
    """Whether the drafter gets a backend of its own where it needs one."""
    asked = asked_of(case)
    if asked is None or asked.engine != "sglang" or not asked.wants_speculation:
        return
    if not needs_own_backend(case) or asked.draft_attention is not None:
        return
    is_latent = asked.attention in LATENT
    found = consequences("attention-backend-latent" if is_latent else ID, engine="sglang")
    given = f"--attention-backend {asked.attention}" if asked.attention else "the default backend"
    yield CheckFinding(
        ID,
        worst_of(found, Harm.RISK),
        "flags",
        f"The target has latent attention, the drafter has not, and inherits {given}.",
        (
            *flag_evidence(case, "attention-backend", "decode-attention-backend"),
            config_evidence(case.draft, "kv_lora_rank", None),
        ),
        found,
        "Add --speculative-draft-attention-backend with one for plain attention: fa3, flashinfer"
        " or triton.",
    )
