"""From which acceptance length on this launch pays.

A step of a server with a drafter costs more than a token without one: the target verifies several
tokens, and the drafter runs as often as it drafts. Speculation pays where the acceptance length is
above that ratio. It was measured in public over several targets in SGLang (SpecBundle, chains):
it grows with the number of steps, and is higher for mixtures of experts, whose verified tokens
read more experts. On a host whose GPUs talk slowly it was 2.4 for Kimi-K2.5 with 3 steps. Only a
measurement tells it for a host: `firedup probe --baseline`. Told where the command says the steps.
"""

from __future__ import annotations

from collections.abc import Iterator

from firedup.core.checked import CheckFinding, Harm
from firedup.drafter.asked import asked_of, flag_evidence
from firedup.drafter.case import Case
from firedup.drafter.config import whole
from firedup.drafter.facts_target import text_config

ID = "break-even"
# (cost of a step without drafting, cost of each drafted token), in tokens of the baseline: what
# SpecBundle's raw data gives for Llama-3.1-8B and Llama-3.3-70B, and for five mixtures of experts.
_DENSE = ((1.15, 0.068), (1.11, 0.042))
_EXPERTS = ((1.52, 0.155), (1.48, 0.055), (1.39, 0.10), (1.61, 0.09), (1.43, 0.12))
_EXPERT_KEYS = ("n_routed_experts", "num_experts", "num_local_experts")
_MOST_STEPS = 16


def check(case: Case) -> Iterator[CheckFinding]:
    """A note, where the command says how many tokens are drafted one after the other."""
    asked, kind = asked_of(case), case.draft_facts.kind
    steps = asked.steps if asked else None
    if not steps or steps > _MOST_STEPS or kind not in {"eagle3", "eagle", "mtp"}:
        return
    has_experts = whole(text_config(case.target.config), *_EXPERT_KEYS)
    ratios = [base + each * steps for base, each in (_EXPERTS if has_experts else _DENSE)]
    like = "mixtures of experts" if has_experts else "dense targets"
    yield CheckFinding(
        ID,
        Harm.NOTE,
        "flags",
        f"It pays from an acceptance length of {min(ratios):.1f} to {max(ratios):.1f} on, as"
        f" measured for {like}; {steps + 1} is the most that {steps} drafted tokens can give.",
        flag_evidence(case, "speculative-num-steps", "speculative-config", "spec-draft-n-max"),
        (),
        "Measure it on this host: firedup probe URL --baseline URL.",
    )
