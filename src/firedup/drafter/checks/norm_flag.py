"""The engine does not honour a flag of the drafter's config that says how to normalise.

`norm_before_residual` has never been read by SGLang; `fc_norm`, `norm_output` and `norm_before_fc`
only from some version on, and the nested format of speculators lost two of them in vLLM before
0.25. Read in that format without the key, vLLM takes `norm_before_residual` for true.
"""

from __future__ import annotations

from collections.abc import Iterator

from firedup.core.checked import CheckFinding, Consequence, Harm
from firedup.drafter.case import Case
from firedup.drafter.config import inner, text
from firedup.drafter.consequence import as_asked, consequences, without_norm, worst_of
from firedup.drafter.known import engines
from firedup.drafter.tell import config_evidence

IDS = {
    "norm-flag-not-honoured": "The engine does not honour a norm flag of the drafter's config.",
    "norm-flag-by-default": "A norm flag that is not there has two meanings.",
}
_FLAGS = ("norm_before_residual", "norm_before_fc", "fc_norm", "use_aux_norm", "norm_output")
_SILENT = "passes over it: the drafter reads numbers of another scale than in training"
_TENSORS = "refuses the norms of the file: a KeyError"  # as vLLM does before 0.25


def check(case: Case) -> Iterator[CheckFinding]:
    """Each flag that is on."""
    config, facts = case.draft.config, case.draft_facts
    if facts.kind != "eagle3" or case.draft.gguf:
        return
    is_nested = text(config, "speculators_model_type") is not None
    for flag in _FLAGS:
        key = flag if flag in config else f"eagle_config.{flag}"
        if (config.get(flag) or inner(config, "eagle_config").get(flag)) not in (None, False):
            yield from _flag(case, flag, key, is_nested=is_nested)
    if is_nested and config.get("norm_before_residual") is None:
        yield CheckFinding(
            "norm-flag-by-default",
            Harm.RISK,
            "draft",
            "norm_before_residual is not there, and engines take different things for granted.",
            (config_evidence(case.draft, "norm_before_residual", None),),
            (
                Consequence("vllm", "", Harm.RISK, "takes it for true in this format"),
                Consequence("llama-cpp", "", Harm.RISK, "takes it for false"),
            ),
            "Write down what the drafter was trained with.",
        )


def _flag(case: Case, flag: str, key: str, *, is_nested: bool) -> Iterator[CheckFinding]:
    found: list[Consequence] = []
    for engine in engines():
        if engine.engine == "sglang" and is_nested:
            continue  # it cannot load this format at all
        for span in without_norm(engine, flag, is_nested=is_nested):
            known = consequences(f"{flag.replace('_', '-')}-not-honoured", engine=engine.engine)
            found += known or [_lost(engine.engine, span, flag)]
    if found:
        yield CheckFinding(
            "norm-flag-not-honoured",
            worst_of(tuple(found), Harm.SILENT_LOSS),
            "draft",
            f"{key} is on, which not every engine and version honours.",
            (config_evidence(case.draft, key, "true"),),
            as_asked(case, found),
            "Use an engine and version that honours it.",
        )


def _lost(engine: str, span: str, flag: str) -> Consequence:
    if engine == "llama-cpp":
        return Consequence(engine, span, Harm.CRASH, "the converter knows no such norms")
    has_tensors = flag != "norm_output"
    if engine == "vllm" and has_tensors:
        return Consequence(engine, span, Harm.CRASH, _TENSORS)
    return Consequence(engine, span, Harm.SILENT_LOSS, _SILENT)
