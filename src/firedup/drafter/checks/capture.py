"""The target does not hand out the hidden states that an EAGLE-3 drafter reads.

A drafter of EAGLE-3 reads hidden states from within the target, and each engine has to hand them
out model by model. Where it does not, the server ends after the target was loaded: Kimi-K2.5 cannot
be used with EAGLE-3 in SGLang 0.5.9 and can in 0.5.10.
"""

from __future__ import annotations

from collections.abc import Iterator

from firedup.core.checked import CheckFinding, Consequence, Harm
from firedup.drafter.case import Case
from firedup.drafter.config import text
from firedup.drafter.consequence import as_asked, consequences, without_capture
from firedup.drafter.facts_target import text_config
from firedup.drafter.known import Engine, engines
from firedup.drafter.tell import config_evidence

ID = "target-without-capture"


def check(case: Case) -> Iterator[CheckFinding]:
    """Look the target's architecture and model type up for each engine."""
    target = case.target_facts.architecture
    if case.draft_facts.kind != "eagle3" or case.draft.gguf or case.target.gguf or not target:
        return
    model_type = text(text_config(case.target.config), "model_type") or ""
    found = [one for engine in engines() for one in _found(engine, target, model_type)]
    if not found:
        return
    yield CheckFinding(
        ID,
        Harm.CRASH,
        "target",
        f"Not every engine and version hands out the hidden states of {target}.",
        (
            config_evidence(case.target, "architectures", target),
            config_evidence(case.target, "model_type of the text model", model_type or None),
        ),
        as_asked(case, found),
        "Use a version that does, or speculation that needs none: MTP, a draft model, n-grams.",
    )


def _found(engine: Engine, target: str, model_type: str) -> Iterator[Consequence]:
    is_known = any(
        target in one.architectures for group in (engine.target, engine.without) for one in group
    )
    for span in without_capture(engine, target):
        for one in consequences(ID, versions=span, engine=engine.engine):
            # vLLM serves models that it does not know through Transformers, which can do it.
            if is_known or engine.engine != "vllm":
                yield one
    for entry in engine.model_type:
        if model_type and not any(word in model_type for word in entry.contains):
            yield from consequences(
                "target-type-refused", versions=entry.versions, engine=engine.engine
            )
