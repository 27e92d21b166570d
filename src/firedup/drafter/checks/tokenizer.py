"""The drafter's tokenizer is not the target's.

Draft tokens are ids. Where the same id means another text, every proposal is a different word than
the one that was meant. EAGLE drafters need no tokenizer; one that comes with them tells which
target they were made for.
"""

from __future__ import annotations

from collections.abc import Iterator

from firedup.core.checked import CheckFinding, Harm
from firedup.core.model import Evidence
from firedup.drafter.case import Case
from firedup.drafter.checkpoint import Checkpoint, TokenizerFacts
from firedup.drafter.tell import everywhere, file_of, llama_cpp, sglang, vllm

ID = "tokenizer-differs"
_SHOWN = 5


def check(case: Case) -> Iterator[CheckFinding]:
    """Compare digests, then say where the first tokens differ."""
    target, draft = case.target.tokenizer, case.draft.tokenizer
    if target is None or draft is None or target.digest == draft.digest:
        return
    differing = list(_differing(target, draft))
    if target.kind != draft.kind and not differing:
        return  # two forms of what may be the same vocabulary cannot be compared
    evidence = [_line(case.target, target), _line(case.draft, draft)]
    evidence += [
        Evidence("file", f"id {i} is {there!r} in the target and {here!r} in the drafter")
        for i, there, here in differing[:_SHOWN]
    ]
    is_special = not target.tokens and bool(differing)
    is_head = case.draft_facts.kind in {"eagle3", "eagle", "mtp"}
    text = "proposes ids that mean other words in the target"
    consequences = (
        everywhere(Harm.RISK, "does not read the drafter's tokenizer; the ids must be the target's")
        if is_head
        else (
            sglang(Harm.RISK if is_special else Harm.SILENT_LOSS, text),
            vllm(Harm.RISK if is_special else Harm.SILENT_LOSS, text),
            llama_cpp(Harm.SILENT_LOSS, "serves without speculation: vocabs are not compatible"),
        )
    )
    first = f"; they first differ at id {differing[0][0]}" if differing else ""
    yield CheckFinding(
        ID,
        Harm.RISK,
        "draft",
        f"The tokenizers of target and drafter are not the same{first}.",
        tuple(evidence),
        consequences,
        "Use a drafter that was made for the target's tokenizer."
        if not is_head
        else "See whether the drafter was made for this target.",
    )


def _differing(target: TokenizerFacts, draft: TokenizerFacts) -> Iterator[tuple[int, str, str]]:
    """Ids with the texts of both, in the order of ids; the special ones where nothing else is."""
    for i in sorted({*target.tokens, *draft.tokens}):
        there, here = target.tokens.get(i, ""), draft.tokens.get(i, "")
        if there != here:
            yield i, there, here
    if target.tokens or draft.tokens:
        return
    there_by_id = {i: text for text, i in target.special.items()}
    here_by_id = {i: text for text, i in draft.special.items()}
    for i in sorted(there_by_id.keys() & here_by_id.keys()):
        if there_by_id[i] != here_by_id[i]:
            yield i, there_by_id[i], here_by_id[i]


def _line(checkpoint: Checkpoint, tokenizer: TokenizerFacts) -> Evidence:
    name = checkpoint.path if tokenizer.kind == "gguf" else file_of(checkpoint, tokenizer.kind)
    return Evidence("file", f"{name}: {tokenizer.size:,} tokens, SHA-256 {tokenizer.digest[:12]}…")
