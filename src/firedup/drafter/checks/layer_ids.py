"""The layer ids of the drafter's config cannot be, or are not read where they stand.

`eagle_aux_hidden_state_layer_ids` says which hidden states of the target fc joins. SGLang looks for
it within `eagle_config` alone, vLLM at the top, too (and within `eagle_config` since 0.22), the
converter of llama.cpp nowhere. Where it is not read, the states that go into the layers 2, L/2 and
L-3 are taken. With fewer than 8 layers two of these are the same one, and fc gets too few columns.
"""

from __future__ import annotations

from collections.abc import Iterator

from firedup.core.checked import CheckFinding, Consequence, Harm
from firedup.drafter.case import Case
from firedup.drafter.consequence import (
    as_asked,
    captures,
    consequences,
    without_key,
    worst_of,
)
from firedup.drafter.expected import streams_of
from firedup.drafter.known import engines
from firedup.drafter.placed import place_of_ids
from firedup.drafter.tell import config_evidence
from firedup.drafter.trained import trained_states

IDS = {
    "layer-ids-out-of-range": "The drafter's config names layers that the target does not have.",
    "layer-ids-collide": "Fewer different hidden states are captured than fc joins.",
    "layer-ids-not-read": "The layer ids stand where an engine does not look for them.",
}
KEY = "eagle_aux_hidden_state_layer_ids"


def check(case: Case) -> Iterator[CheckFinding]:
    """What is captured, engine by engine, against the number of layers and the streams of fc."""
    facts, layers = case.draft_facts, case.target_facts.layers
    if facts.kind != "eagle3" or case.draft.gguf or not layers:
        return
    yield from _captured(case, layers)
    yield from _unread(case, layers)


def _captured(case: Case, layers: int) -> Iterator[CheckFinding]:
    facts, streams = case.draft_facts, streams_of(case)
    found: dict[str, list[tuple[str, str]]] = {
        "layer-ids-out-of-range": [],
        "layer-ids-collide": [],
    }
    for engine in engines():
        for span, states, rule in captures(
            engine, case.target_facts.architecture, facts.layer_ids, facts.layer_ids_key, layers
        ):
            last = layers if rule.takes_last else layers - 1
            if not states or states[0] < 0 or states[-1] > last:
                found["layer-ids-out-of-range"].append((engine.engine, span))
            elif len(states) < streams and (facts.layer_ids is None or len(states) < 3):
                found["layer-ids-collide"].append((engine.engine, span))
    ids = list(facts.layer_ids or ())
    for ident, places in found.items():
        bearing = [
            one
            for engine_name, span in places
            for one in consequences(ident, versions=span, engine=engine_name)
        ]
        if not bearing:
            continue
        said = f"The layer ids {ids}" if ids else "The default layers"
        yield CheckFinding(
            ident,
            worst_of(tuple(bearing), Harm.CRASH),
            "draft",
            f"{said} do not give {streams} different hidden states of {layers} layers.",
            (
                config_evidence(case.draft, facts.layer_ids_key or KEY, ids or None),
                config_evidence(case.target, "num_hidden_layers", layers),
            ),
            as_asked(case, bearing),
            "Name the layers that the drafter was trained with; a target of fewer than 8 layers"
            " needs ids of its own.",
        )


def _unread(case: Case, layers: int) -> Iterator[CheckFinding]:
    facts = case.draft_facts
    if facts.layer_ids is None or facts.layer_ids_key is None:
        return
    default = (2, layers // 2, layers - 3)
    found: list[Consequence] = []
    trained, _, _ = trained_states(case, layers)
    is_default = default in (tuple(sorted(facts.layer_ids)), trained)
    for engine in engines():
        for span in without_key(engine, facts.layer_ids_key):
            if not is_default:
                found += consequences("layer-ids-not-read", versions=span, engine=engine.engine)
    if not found:
        return
    ids = list(facts.layer_ids)
    yield CheckFinding(
        "layer-ids-not-read",
        Harm.SILENT_LOSS,
        "draft",
        f"The layer ids {ids} under {facts.layer_ids_key} are not read everywhere;"
        f" {list(default)} are taken instead.",
        (
            config_evidence(case.draft, facts.layer_ids_key, ids),
            config_evidence(case.target, "num_hidden_layers", layers),
        ),
        as_asked(case, found),
        f"Write them under eagle_config.{KEY} for SGLang, and under {KEY} for vLLM.",
        fixable=place_of_ids(case) is not None,
    )
