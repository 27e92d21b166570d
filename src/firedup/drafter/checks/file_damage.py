"""A file of a checkpoint is not what it must be: missing, short, or a pointer to the real one.

An interrupted download leaves short shards, and a clone without Git LFS leaves text files of about
130 bytes in place of the weights. Every engine finds out when it comes to that file, which for the
drafter is after the target was loaded. A path that leads to no weights is mostly the wrong one: the
folder above, one of several GGUF files, a file of another kind.
"""

from __future__ import annotations

from collections.abc import Iterator

from firedup.core.checked import CheckFinding, Harm
from firedup.core.model import Evidence
from firedup.drafter.case import Case
from firedup.drafter.checkpoint import Checkpoint, Damage
from firedup.drafter.remedy import NOTHING_FOUND, remedy_of
from firedup.drafter.tell import everywhere, file_of

IDS = {
    "checkpoint-incomplete": "A file of the checkpoint is missing, shorter than it must be, or not"
    " readable.",
    "config-missing": "The checkpoint has no config.json, or an empty one.",
    "weights-not-found": "There are no weights where the checkpoint is said to lie.",
    "lfs-pointer": "A file of weights is a Git LFS pointer: the weights were never downloaded.",
}
_POINTER = "LFS"


def check(case: Case) -> Iterator[CheckFinding]:
    """One finding for each checkpoint and kind of damage."""
    for subject, checkpoint in (("target", case.target), ("draft", case.draft)):
        found: dict[str, list[Damage]] = {}
        for damage in checkpoint.damages:
            found.setdefault(_kind(damage), []).append(damage)
        for ident, damages in found.items():
            yield _finding(ident, subject, checkpoint, damages)
        if not (checkpoint.config or checkpoint.gguf or found):
            yield _no_config(subject, checkpoint)


def _kind(damage: Damage) -> str:
    if _POINTER in damage.why:
        return "lfs-pointer"
    return "weights-not-found" if damage.why in NOTHING_FOUND else "checkpoint-incomplete"


def _finding(
    ident: str, subject: str, checkpoint: Checkpoint, damages: list[Damage]
) -> CheckFinding:
    whose = "target" if subject == "target" else "drafter"
    count = f"{len(damages)} files" if len(damages) > 1 else "A file"
    verb = "are" if len(damages) > 1 else "is"
    remedy, text = remedy_of(damages), "loading ends with an error at this file"
    if ident == "lfs-pointer":
        what = "Git LFS pointers" if len(damages) > 1 else "a Git LFS pointer"
        message = f"{count} of the {whose} {verb} {what}, not weights."
        remedy = "Run `git lfs pull` in the folder, or download the files from the hub again."
    elif ident == "weights-not-found":
        message = f"There are no weights where the {whose} is said to lie."
        text = "does not find a model there"
    else:
        message = f"{count} of the {whose} {verb} damaged, incomplete or not readable."
    evidence = tuple(
        Evidence("file", f"{file_of(checkpoint, damage.file)}: {damage.why}")
        for damage in damages[:8]
    )
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
