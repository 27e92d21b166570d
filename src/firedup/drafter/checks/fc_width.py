"""fc does not take as many columns as the target delivers.

`fc.weight` joins the hidden states of several layers of the target (three, unless the config says
otherwise), so it has that many times the target's hidden size as columns. An EAGLE-1 head joins one
hidden state and the embedding: two.
"""

from __future__ import annotations

from collections.abc import Iterator

from firedup.core.checked import CheckFinding, Harm
from firedup.drafter.case import Case
from firedup.drafter.expected import held, streams_of
from firedup.drafter.tell import config_evidence, llama_cpp, sglang, tensor_evidence, vllm

ID = "fc-width-wrong"


def check(case: Case) -> Iterator[CheckFinding]:
    """Columns against streams times width."""
    facts, width = case.draft_facts, case.target_facts.hidden
    fc = held(case, "fc.weight")
    if facts.kind not in {"eagle3", "eagle"} or fc is None or len(fc.shape) != 2 or not width:
        return
    streams = streams_of(case) if facts.kind == "eagle3" else 2
    columns = fc.shape[1]
    if columns == streams * width:
        return
    own = facts.target_hidden or facts.hidden
    if own != width and own and (columns % width or columns == streams * own):
        return  # hidden_size says it
    ids, key = facts.layer_ids, facts.layer_ids_key
    whole = columns % width == 0
    fits = f", which is {columns // width} × {width:,}" if whole else ""
    yield CheckFinding(
        ID,
        Harm.CRASH,
        "draft",
        f"fc has {columns:,} columns{fits}; {streams} × {width:,} = {streams * width:,} are fed.",
        (
            tensor_evidence(case.draft, fc),
            config_evidence(case.target, "hidden_size", width),
            *([config_evidence(case.draft, key, list(ids or ()))] if key else []),
        ),
        (
            sglang(Harm.CRASH, "loading fc or the first draft step ends with a shape error"),
            vllm(Harm.CRASH, "Attempted to load weight (…) into parameter (…) of another shape"),
            llama_cpp(Harm.CRASH, "exactly 3 layers are read; the tensor has a wrong shape"),
        ),
        f"Name {columns // width} layer ids in the config, those of the training."
        if whole and facts.kind == "eagle3"
        else "Use a drafter that was made for this target.",
    )
