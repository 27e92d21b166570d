"""What is worth knowing of a pair at a glance: rows of names and values."""

from __future__ import annotations

from collections.abc import Iterator

from firedup.drafter.case import Case, DraftFacts, TargetFacts
from firedup.drafter.checkpoint import Checkpoint
from firedup.drafter.tell import some
from firedup.host.agent.checkpoint import PICKLE

_KINDS = {
    "eagle3": "EAGLE-3 drafter",
    "eagle": "EAGLE drafter",
    "mtp": "multi-token prediction head",
    "draft-model": "model that drafts",
    "unknown": "not known what it is",
}


def tell_facts(
    target: Checkpoint, draft: Checkpoint, facts: tuple[TargetFacts, DraftFacts]
) -> tuple[tuple[str, str], ...]:
    """Rows for the reader; what a config does not say is left out."""
    about, drafter = facts
    rows = [
        ("target", _join(about.architecture, _size(target))),
        ("its text model", _join(*_shape(about))),
        ("drafter", _join(_KINDS[drafter.kind], drafter.architecture, _size(draft))),
        ("its layers", _join(*_draft_shape(drafter))),
    ]
    if drafter.producer:
        rows.append(("written by", f"{drafter.producer}, told by {drafter.producer_why}"))
    if drafter.layer_ids:
        ids = ", ".join(map(str, drafter.layer_ids))
        rows.append(("reads layers", f"{ids} ({drafter.layer_ids_key})"))
    elif drafter.kind == "eagle3":
        rows.append(("reads layers", "not said; engines take their default"))
    if drafter.made_for:
        rows.append(("made for", drafter.made_for))
    return tuple((name, value) for name, value in rows if value)


def tell_unread(case: Case) -> Iterator[tuple[str, str]]:
    """(what, why) of all that checks did not see: files passed over, tokenizers that are not there.

    Pickles count where there is nothing else. Heads of EAGLE have no tokenizer of their own.
    """
    for one, whose in ((case.target, "target"), (case.draft, "drafter")):
        unread = [item for item in one.unread if item.why != PICKLE or not one.files]
        for why in dict.fromkeys(item.why for item in unread):
            named = [item.file for item in unread if item.why == why]
            yield f"files of the {whose}", f"{some(named)}: {why}"
        has_own = whose == "target" or case.draft_facts.kind == "draft-model"
        if has_own and one.files and one.tokenizer is None:
            yield f"tokenizer of the {whose}", "none that can be read lies there"


def _join(*parts: str) -> str:
    return ", ".join(part for part in parts if part)


def _size(one: Checkpoint) -> str:
    if not one.tensor_count:
        return "no tensors"
    gigabytes = one.tensor_bytes / 1e9
    size = f"{gigabytes:,.1f} GB" if gigabytes >= 1 else f"{one.tensor_bytes / 1e6:,.1f} MB"
    return f"{one.tensor_count:,} tensors, {size}"


def _count(number: int | None, word: str) -> str:
    return "" if number is None else f"{number:,} {word}{'' if number == 1 else 's'}"


def _shape(about: TargetFacts) -> list[str]:
    return [
        _count(about.layers, "layer"),
        "" if about.hidden is None else f"hidden size {about.hidden:,}",
        _count(about.vocab, "token"),
        "MLA" if about.is_mla else "",
        about.quantization or "",
        "beside a model for other media" if about.is_multimodal else "",
    ]


def _draft_shape(drafter: DraftFacts) -> list[str]:
    reduced = drafter.draft_vocab
    return [
        _count(drafter.layers, "layer"),
        "" if drafter.hidden is None else f"hidden size {drafter.hidden:,}",
        _count(drafter.vocab, "token"),
        "" if reduced is None else f"drafts {reduced:,} of them",
        "MLA" if drafter.is_mla else "",
    ]
