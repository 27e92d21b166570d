"""The index promises tensors that its files do not hold.

SGLang and vLLM read whatever stands in the files and never look for what the index promises; a
tensor that is nowhere keeps its initial values. An index that is left over from another version of
the checkpoint does no harm by itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from firedup.core.checked import CheckFinding, Harm
from firedup.core.model import Evidence
from firedup.drafter.case import Case
from firedup.drafter.tell import file_of

ID = "index-differs"
_SHOWN = 4


def check(case: Case) -> Iterator[CheckFinding]:
    """One finding for each checkpoint."""
    for subject, checkpoint in (("target", case.target), ("draft", case.draft)):
        doubts = checkpoint.doubts
        if doubts:
            yield CheckFinding(
                ID,
                Harm.RISK,
                subject,
                f"The index promises tensors that {len(doubts)} of its files do not hold.",
                tuple(
                    Evidence("file", f"{file_of(checkpoint, doubt.file)}: {doubt.why}")
                    for doubt in doubts[:_SHOWN]
                ),
                remedy="Compare the folder with its source; download what differs again.",
            )
