"""The drafter inherits the target's quantisation, and is not quantised.

SGLang applies `--quantization` to the drafter, too, and then looks for a file that an unquantised
drafter does not have. A quantisation that the target's own config names is not inherited.
"""

from __future__ import annotations

from collections.abc import Iterator

from firedup.core.checked import CheckFinding, Harm
from firedup.drafter.asked import asked_of, flag_evidence
from firedup.drafter.case import Case
from firedup.drafter.config import inner
from firedup.drafter.consequence import consequences
from firedup.drafter.tell import config_evidence

ID = "quantization-inherited"
OPT_OUT = "--speculative-draft-model-quantization unquant"


def check(case: Case) -> Iterator[CheckFinding]:
    """Whether the flag is given and the drafter has no quantisation of its own."""
    asked = asked_of(case)
    if asked is None or asked.engine != "sglang" or not asked.quantization:
        return
    own = inner(case.draft.config, "quantization_config", "compression_config")
    if asked.draft_quantization is not None or own or case.draft_facts.kind == "mtp":
        return
    yield CheckFinding(
        ID,
        Harm.CRASH,
        "flags",
        f"--quantization {asked.quantization} holds for the drafter, too, which is not quantised.",
        (
            *flag_evidence(case, "quantization"),
            config_evidence(case.draft, "quantization_config", None),
        ),
        consequences(ID),
        f"Add {OPT_OUT} (SGLang 0.5.7 and later).",
    )
