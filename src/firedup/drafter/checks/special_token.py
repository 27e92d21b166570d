"""Tokens that end a turn, or open thinking and tool calls, are not among those that are drafted.

Maps are made of the most frequent tokens of a training text. A marker that the text did not have
can never be proposed: each of its occurrences costs one verify step.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from firedup.core.checked import CheckFinding, Harm
from firedup.core.model import Evidence
from firedup.drafter.case import Case
from firedup.drafter.config import inner
from firedup.drafter.expected import held
from firedup.drafter.tell import everywhere, some, tensor_evidence
from firedup.drafter.vocabmap import holds_ids, read_offsets

ID = "special-token-not-drafted"
_MARKERS = re.compile(r"think|tool.?call", re.IGNORECASE)


def check(case: Case) -> Iterator[CheckFinding]:
    """Ends and markers of the target against the map."""
    d2t, vocab, tensor = case.samples.d2t, case.target_facts.vocab, held(case, "d2t")
    if d2t is None or vocab is None or tensor is None or len(d2t) >= vocab or not any(d2t):
        return
    has_ids = holds_ids(d2t, vocab, case.samples.t2d)
    known = set(d2t if has_ids else read_offsets(d2t, vocab).ids)
    wanted = {i: f"id {i}" for i in _ends(case)}
    template = _template(case)
    special = case.target.tokenizer.special if case.target.tokenizer else {}
    for text, i in special.items():
        if i in wanted or (_MARKERS.search(text) and text in template):
            wanted[i] = f"{text} ({i})"
    absent = [wanted[i] for i in sorted(wanted) if 0 <= i < vocab and i not in known]
    if not absent:
        return
    yield CheckFinding(
        ID,
        Harm.NOTE,
        "draft",
        f"These tokens can never be drafted: {some(absent)}.",
        (
            tensor_evidence(case.draft, tensor, f"{len(d2t):,} of {vocab:,} tokens"),
            Evidence("file", f"{case.target.path}: {some(absent)}"),
        ),
        everywhere(Harm.NOTE, "one more verify step wherever such a token comes"),
        "Count them in when the map is built the next time.",
    )


def _ends(case: Case) -> set[int]:
    """The ids that end a text or a turn."""
    found: set[int] = set()
    config = case.target.config
    generation = inner(case.target.extra, "generation_config.json")
    for place in (config, inner(config, "text_config"), generation):
        value = place.get("eos_token_id")
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, int) and not isinstance(item, bool):
                found.add(item)
    return found


def _template(case: Case) -> str:
    template: Any = inner(case.target.extra, "tokenizer_config.json").get("chat_template")
    plain = case.target.extra.get("chat_template.jinja")
    return "\n".join(str(part) for part in (template, plain) if part)
