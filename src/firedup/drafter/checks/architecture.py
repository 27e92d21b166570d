"""The engine does not know the drafter's architecture.

The name under `architectures` in config.json decides which class of an engine loads the drafter.
SGLang registers two for EAGLE-3, and none for the nested format of speculators.
"""

from __future__ import annotations

from collections.abc import Iterator

from firedup.core.checked import CheckFinding, Consequence, Harm
from firedup.drafter.case import Case
from firedup.drafter.config import text
from firedup.drafter.consequence import as_asked, consequences, without_architecture
from firedup.drafter.known import engines
from firedup.drafter.tell import config_evidence

ID = "drafter-architecture-unknown"
_NESTED = "the nested format of speculators"
# The name for a drafter of this layout that most engines read.
_PLAIN = {False: "LlamaForCausalLMEagle3", True: "Eagle3DeepseekV2ForCausalLM"}


def check(case: Case) -> Iterator[CheckFinding]:
    """Look the architecture up for each engine."""
    facts = case.draft_facts
    if facts.kind not in ("eagle3", "eagle", "mtp") or not facts.architecture or case.draft.gguf:
        return
    is_nested = text(case.draft.config, "speculators_model_type") is not None
    found: list[Consequence] = []
    for engine in engines():
        if engine.engine == "llama-cpp" and (facts.kind != "eagle3" or facts.is_mla):
            continue
        if engine.engine == "vllm" and (is_nested or facts.kind != "eagle3"):
            continue  # it renames the architecture itself
        spans = without_architecture(engine, facts.architecture, facts.kind)
        if engine.engine == "sglang" and is_nested:
            spans = ("",)
        for span in spans:
            found += consequences(ID, versions=span, engine=engine.engine)
    if not found:
        return
    right = _PLAIN[facts.is_mla]
    can_rename = facts.kind == "eagle3" and not is_nested and facts.architecture != right
    shown = f"{facts.architecture} in {_NESTED}" if is_nested else facts.architecture
    yield CheckFinding(
        ID,
        Harm.CRASH,
        "draft",
        f"{shown} is not an architecture that every engine and version loads.",
        (config_evidence(case.draft, "architectures", facts.architecture),),
        as_asked(case, found),
        f"If the drafter is laid out like one, name it {right} in config.json."
        if can_rename
        else "Use an engine and version that knows it, or export the drafter in another format.",
    )
