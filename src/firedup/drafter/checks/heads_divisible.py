"""The drafter's attention heads cannot be shared evenly by the ranks.

Both engines give each rank of tensor parallelism the same number of heads, and the drafter is
split like the target. Key-value heads are split where there are enough and copied where there are
fewer than ranks, so one of the two numbers must divide the other.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from firedup.core.checked import CheckFinding, Harm
from firedup.core.model import Evidence
from firedup.drafter.case import Case
from firedup.drafter.tell import config_evidence, sglang, vllm

ID = "heads-not-divisible"


def check(case: Case) -> Iterator[CheckFinding]:
    """Divide the heads by the ranks."""
    facts, ranks = case.draft_facts, _ranks(case)
    if not ranks or not facts.heads or facts.is_mla or case.draft.gguf:
        return
    key, count, what = "num_attention_heads", facts.heads, "attention heads"
    if count % ranks == 0:
        key, count, what = "num_key_value_heads", facts.kv_heads or 0, "key-value heads"
        if not count or count % ranks == 0 or ranks % count == 0:
            return
    yield CheckFinding(
        ID,
        Harm.CRASH,
        "draft",
        f"The drafter's {count:,} {what} cannot be shared evenly by {ranks:,} ranks.",
        (
            config_evidence(case.draft, key, count),
            Evidence("command", f"tensor parallelism over {ranks} ranks"),
        ),
        (
            sglang(Harm.CRASH, "an AssertionError where the drafter's attention is built"),
            vllm(Harm.CRASH, "refuses a number of heads that the ranks do not divide"),
        ),
        "Choose a number of ranks that divides the heads of target and drafter.",
    )


def _ranks(case: Case) -> int | None:
    """Those that share the drafter's attention; None where the flags split it otherwise."""
    flags = case.launch.flags
    if "enable-dp-attention" in flags:
        return None
    try:
        said = json.loads(flags.get("speculative-config", ""))
    except ValueError:
        said = None
    own = said.get("draft_tensor_parallel_size") if isinstance(said, dict) else None
    return own if isinstance(own, int) and own > 0 else case.launch.tp
