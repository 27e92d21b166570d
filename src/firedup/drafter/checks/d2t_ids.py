"""d2t holds the ids of tokens where engines read offsets.

SGLang and vLLM add d2t to the number of the row: target id = row + d2t[row]. A map of ids sends
every draft token somewhere else, or out of the vocabulary. The server comes up; in a real SGLang
such a drafter had an acceptance length of 1.01 where the right map gives 3.31.
"""

from __future__ import annotations

from collections.abc import Iterator

from firedup.core.checked import CheckFinding, Harm
from firedup.core.model import Evidence
from firedup.drafter.case import Case
from firedup.drafter.expected import held
from firedup.drafter.tell import llama_cpp, sglang, tensor_evidence, vllm
from firedup.drafter.vocabmap import holds_ids, read_offsets

ID = "d2t-absolute-ids"


def check(case: Case) -> Iterator[CheckFinding]:
    """Both readings; says which one fits."""
    d2t, vocab, tensor = case.samples.d2t, case.target_facts.vocab, held(case, "d2t")
    if d2t is None or vocab is None or tensor is None or case.draft.gguf:
        return
    if not holds_ids(d2t, vocab, case.samples.t2d):
        return
    wrong = read_offsets(d2t, vocab)
    first = ", ".join(map(str, d2t[:6]))
    evidence = [
        tensor_evidence(
            case.draft, tensor, f"begins {first}; largest {max(d2t):,}, {vocab:,} tokens"
        ),
        Evidence("file", "read as ids it is ascending, without doubles, inside the vocabulary"),
    ]
    if wrong.outside:
        row = wrong.outside[0]
        text = f"read as offsets row {row} is token {wrong.ids[row]:,}, which does not exist"
        evidence.append(Evidence("file", text))
    if case.samples.t2d == tuple(d2t):
        evidence.append(Evidence("file", "t2d marks exactly the tokens that d2t holds as ids"))
    outside = "; ids outside end in an index error or a device-side assert" * bool(wrong.outside)
    yield CheckFinding(
        ID,
        Harm.SILENT_LOSS,
        "draft",
        "d2t holds ids of tokens; engines read it as offsets and propose other tokens.",
        tuple(evidence),
        (
            sglang(Harm.SILENT_LOSS, f"starts; next to no draft token is accepted{outside}"),
            vllm(
                Harm.CRASH if wrong.outside else Harm.SILENT_LOSS,
                f"next to no draft token is accepted{outside}",
            ),
            llama_cpp(
                Harm.CRASH if wrong.outside else Harm.SILENT_LOSS,
                "the converter adds the row numbers, and refuses ids outside the vocabulary",
            ),
        ),
        "Subtract the row number from each entry; --fix does it.",
        fixable=True,
    )
