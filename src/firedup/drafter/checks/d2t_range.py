"""d2t leads to ids that are no tokens of the target, or to one token twice.

With row i standing for token i + d2t[i], every id must lie in the target's vocabulary, and no two
rows may stand for the same token. Ids outside end in an index error, on a GPU in a device-side
assert; of two rows for one token only one can be accepted.
"""

from __future__ import annotations

from collections.abc import Iterator

from firedup.core.checked import CheckFinding, Harm
from firedup.core.model import Evidence
from firedup.drafter.case import Case
from firedup.drafter.checkpoint import Tensor
from firedup.drafter.expected import held
from firedup.drafter.tell import everywhere, llama_cpp, sglang, tensor_evidence, vllm
from firedup.drafter.vocabmap import Reading, holds_ids, is_arange, read_offsets

IDS = {
    "d2t-out-of-range": "d2t leads to ids that the target's vocabulary does not have.",
    "d2t-duplicates": "d2t leads several rows to the same token.",
    "d2t-not-ascending": "The ids that d2t leads to are not ascending.",
}


def check(case: Case) -> Iterator[CheckFinding]:
    """Range, doubles and order of the offsets' reading."""
    d2t, vocab, tensor = case.samples.d2t, case.target_facts.vocab, held(case, "d2t")
    if d2t is None or vocab is None or tensor is None or case.draft.gguf:
        return
    if holds_ids(d2t, vocab, case.samples.t2d) or is_arange(d2t) or not any(d2t):
        return
    reading = read_offsets(d2t, vocab)
    if reading.outside:
        yield CheckFinding(
            "d2t-out-of-range",
            Harm.CRASH,
            "draft",
            f"{_share(reading.outside, d2t)} lead outside the target's {vocab:,} tokens.",
            _evidence(case, tensor, reading, reading.outside),
            everywhere(Harm.CRASH, "an index error or a device-side assert at a draft step"),
            "The map belongs to another vocabulary, or to another export; use the right one.",
        )
    if reading.doubled:
        yield CheckFinding(
            "d2t-duplicates",
            Harm.SILENT_LOSS,
            "draft",
            f"{_share(reading.doubled, d2t)} stand for a token that an earlier row stands for.",
            _evidence(case, tensor, reading, reading.doubled),
            (
                sglang(Harm.SILENT_LOSS, "proposes the wrong token for these rows"),
                vllm(Harm.SILENT_LOSS, "keeps the logit of one of the rows"),
                llama_cpp(Harm.CRASH, "the converter refuses doubles"),
            ),
            "The map was not made for this head; use the one of its training.",
        )
    elif reading.falling:
        yield CheckFinding(
            "d2t-not-ascending",
            Harm.RISK,
            "draft",
            f"{_share(reading.falling, d2t)} stand for a smaller id than the row before,"
            " while all builders of maps sort.",
            _evidence(case, tensor, reading, reading.falling),
            everywhere(Harm.RISK, "serves; wrong if the map was damaged or joined from two"),
            "Compare the map with the one of the training.",
        )


def _share(rows: tuple[int, ...], d2t: tuple[int, ...]) -> str:
    return f"{len(rows):,} of {len(d2t):,} rows of d2t"


def _evidence(
    case: Case, tensor: Tensor, reading: Reading, rows: tuple[int, ...]
) -> tuple[Evidence, ...]:
    d2t = case.samples.d2t or ()
    shown = (
        Evidence("file", f"d2t[{row}] = {d2t[row]:,}, so row {row} is token {reading.ids[row]:,}")
        for row in rows[:4]
    )
    return (tensor_evidence(case.draft, tensor), *shown)
