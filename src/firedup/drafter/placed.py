"""The key under which an engine reads a drafter's layer ids as its training meant them."""

from __future__ import annotations

from firedup.drafter.case import Case
from firedup.drafter.consequence import captures
from firedup.drafter.judge import is_within
from firedup.drafter.known import engine_named
from firedup.drafter.trained import trained_states


def place_of_ids(case: Case) -> str | None:
    """The dotted key to which the ids can be moved without guessing, None when there is none.

    That needs an engine with its version, and a drafter whose config shows what it was trained on:
    under the new key the engine must capture just these states.
    """
    facts, layers = case.draft_facts, case.target_facts.layers
    engine = engine_named(case.engine or "")
    if engine is None or case.version is None or facts.layer_ids is None or not layers:
        return None
    trained, _, _ = trained_states(case, layers)
    keys = [one.key for one in engine.id_key if is_within(case.version, one.versions)]
    if not trained or not keys or facts.layer_ids_key in keys:
        return None
    architecture = case.target_facts.architecture
    states = {
        found
        for span, found, _ in captures(engine, architecture, facts.layer_ids, keys[0], layers)
        if is_within(case.version, span)
    }
    return keys[0] if states == {trained} else None
