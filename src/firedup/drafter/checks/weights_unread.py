"""All weights of a checkpoint lie in files that are not read.

Drafters of the EAGLE repository are often handed on as `pytorch_model.bin`. Such a file is a
pickle: to load it is to run what it says, so it stays closed, and names, shapes and maps remain
unknown.
"""

from __future__ import annotations

from collections.abc import Iterator

from firedup.core.checked import NOT_READ, CheckFinding, Harm
from firedup.core.model import Evidence
from firedup.drafter.case import Case
from firedup.drafter.tell import file_of, sglang, vllm

IDS = {NOT_READ: "All weights of the checkpoint are in files that are not read."}


def check(case: Case) -> Iterator[CheckFinding]:
    """A risk for the drafter, a note for the target."""
    for subject, checkpoint in (("target", case.target), ("draft", case.draft)):
        if checkpoint.files or checkpoint.damages or not checkpoint.unread:
            continue
        is_target = subject == "target"
        harm = Harm.NOTE if is_target else Harm.RISK
        text = "loads it unseen: names, shapes and maps were not checked"
        yield CheckFinding(
            NOT_READ,
            harm,
            subject,
            f"Nothing is known of the {'target' if is_target else 'drafter'}'s tensors.",
            tuple(
                Evidence("file", f"{file_of(checkpoint, one.file)}: {one.why}")
                for one in checkpoint.unread[:8]
            ),
            (sglang(harm, text), vllm(harm, text)),
            "Convert it to safetensors where you trust it, and check it again.",
        )
