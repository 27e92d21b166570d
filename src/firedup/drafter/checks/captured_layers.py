"""The same layer ids mean different layers in different engines, and not those of the training.

SpecForge and ModelOpt write ids of layers whose output the drafter reads; speculators and vLLM
mean the input. SGLang adds 1 to the ids, for DeepSeek and Kimi since 0.5.13 only if the first id is
1. One layer too early or too late costs 0.1 to 0.2 of the acceptance length, in trials and in a
public report on Kimi-K2.5; a wrong order or the last layers cost far more.
"""

from __future__ import annotations

from collections.abc import Iterator

from firedup.core.checked import CheckFinding, Consequence, Harm
from firedup.drafter.case import Case
from firedup.drafter.checks.layer_ids import KEY
from firedup.drafter.consequence import as_asked, captures
from firedup.drafter.known import engines
from firedup.drafter.ranges import read_range
from firedup.drafter.tell import config_evidence
from firedup.drafter.trained import trained_states

IDS = {
    "captured-layers": "Which hidden states each engine captures for this drafter.",
    "captured-layers-differ": "An engine captures other hidden states than those of the training.",
}


def check(case: Case) -> Iterator[CheckFinding]:
    """What is captured, as a note; and what is not what the drafter was trained with."""
    facts, layers = case.draft_facts, case.target_facts.layers
    if facts.kind != "eagle3" or case.draft.gguf or not layers:
        return
    found = [
        (engine.engine, span, states)
        for engine in engines()
        for span, states, _ in captures(
            engine, case.target_facts.architecture, facts.layer_ids, facts.layer_ids_key, layers
        )
        if engine.engine != "llama-cpp" or not facts.is_mla
    ]
    found.sort(key=lambda one: (one[0], read_range(one[1])[0] or ()))
    ids = None if facts.layer_ids is None else list(facts.layer_ids)
    evidence = (
        config_evidence(case.draft, facts.layer_ids_key or KEY, ids),
        config_evidence(case.target, "num_hidden_layers", layers),
    )
    yield CheckFinding(
        "captured-layers",
        Harm.NOTE,
        "draft",
        f"Hidden states captured for the ids {ids}, each by the layer that it goes into."
        if ids
        else "Hidden states captured by default, each by the layer that it goes into.",
        evidence,
        tuple(
            Consequence(engine, span, Harm.NOTE, f"captures {_listed(states)}")
            for engine, span, states in found
        ),
    )
    trained, why, is_sure = trained_states(case, layers)
    harm = Harm.SILENT_LOSS if is_sure else Harm.RISK
    others = [
        Consequence(engine, span, harm, f"captures {_listed(states)}")
        for engine, span, states in found
        # Other ids than these are what "layer-ids-not-read" is about.
        if trained and states != trained and _is_shifted(states, trained)
    ]
    if others:
        yield CheckFinding(
            "captured-layers-differ",
            harm,
            "draft",
            f"Trained on {_listed(trained)}, {why}; not every engine captures these.",
            evidence,
            as_asked(case, others),
            "Change the ids in a copy of config.json by the difference, for this engine.",
        )


def _is_shifted(states: tuple[int, ...], trained: tuple[int, ...]) -> bool:
    pairs = list(zip(states, trained, strict=False))
    return len(states) == len(trained) and len({a - b for a, b in pairs}) == 1


def _listed(states: tuple[int, ...]) -> str:
    return ", ".join(map(str, states))
