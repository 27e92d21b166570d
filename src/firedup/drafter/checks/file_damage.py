"""A file of a checkpoint is not what it must be: missing, short, or a pointer to the real one.

An interrupted download leaves short shards, and a clone without Git LFS leaves text files of about
130 bytes in place of the weights. Every engine finds out when it comes to that file, which for the
drafter is after the target was loaded.
"""

from __future__ import annotations

from collections.abc import Iterator

from firedup.core.checked import CheckFinding, Harm
from firedup.core.model import Evidence
from firedup.drafter.case import Case
from firedup.drafter.checkpoint import Checkpoint, Damage
from firedup.drafter.tell import everywhere, file_of

IDS = {
    "checkpoint-incomplete": "A file of the checkpoint is missing, shorter than it must be, or not"
    " readable.",
    "config-missing": "The checkpoint has no config.json, or an empty one.",
    "lfs-pointer": "A file of weights is a Git LFS pointer: the weights were never downloaded.",
}
_POINTER = "LFS"


def check(case: Case) -> Iterator[CheckFinding]:
    """One finding for each checkpoint and kind of damage."""
    for subject, checkpoint in (("target", case.target), ("draft", case.draft)):
        pointers = [damage for damage in checkpoint.damages if _POINTER in damage.why]
        others = [damage for damage in checkpoint.damages if _POINTER not in damage.why]
        if pointers:
            yield _finding("lfs-pointer", subject, checkpoint, pointers)
        if others:
            yield _finding("checkpoint-incomplete", subject, checkpoint, others)
        elif not (checkpoint.config or checkpoint.gguf or pointers):
            yield _no_config(subject, checkpoint)


def _finding(
    ident: str, subject: str, checkpoint: Checkpoint, damages: list[Damage]
) -> CheckFinding:
    whose = "target" if subject == "target" else "drafter"
    count = f"{len(damages)} files" if len(damages) > 1 else "A file"
    verb = "are" if len(damages) > 1 else "is"
    if ident == "lfs-pointer":
        what = "Git LFS pointers" if len(damages) > 1 else "a Git LFS pointer"
        message = f"{count} of the {whose} {verb} {what}, not weights."
        remedy = "Run `git lfs pull` in the folder, or download the files from the hub again."
    else:
        message = f"{count} of the {whose} {verb} damaged or incomplete."
        remedy = "Download what is named again and compare its size with the hub's."
    evidence = tuple(
        Evidence("file", f"{file_of(checkpoint, damage.file)}: {damage.why}")
        for damage in damages[:8]
    )
    text = "loading ends with an error at this file"
    return CheckFinding(
        ident, Harm.CRASH, subject, message, evidence, everywhere(Harm.CRASH, text), remedy
    )


def _no_config(subject: str, checkpoint: Checkpoint) -> CheckFinding:
    whose = "target" if subject == "target" else "drafter"
    return CheckFinding(
        "config-missing",
        Harm.CRASH,
        subject,
        f"The {whose} has no config.json that says anything.",
        (Evidence("file", f"{file_of(checkpoint, 'config.json')}: not there, or empty"),),
        everywhere(Harm.CRASH, "is not taken for a model, or for one of the hub"),
        "Download config.json again, or give the folder that has it.",
    )
