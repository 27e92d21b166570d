"""Whether a checkpoint on a host is whole: every file there, every file as long as it must be."""

from __future__ import annotations

from firedup.core.error import UsageError
from firedup.core.model import Evidence, Finding, Severity
from firedup.drafter.checkpoint import Checkpoint
from firedup.drafter.place import Place
from firedup.drafter.remedy import NOTHING_FOUND, remedy_of


async def read_whole(
    place: Place, path: str, role: str
) -> tuple[Checkpoint | None, tuple[Finding, ...]]:
    """The checkpoint at `path` and its problems; `role` is "model" or "drafter".

    A GGUF file or a folder of safetensors is read header by header (never the weights); other
    forms are passed over.
    """
    try:
        checkpoint = await place.describe(path)
    except UsageError:
        return None, (_missing(path, role),)
    return checkpoint, tell_damage(checkpoint, role)


def tell_damage(checkpoint: Checkpoint, role: str) -> tuple[Finding, ...]:
    """One finding that names each file that is not what it must be, however many those are.

    A folder without weights is none: an engine can be told to make them up.
    """
    path = checkpoint.path.rstrip("/")
    broken = [one for one in checkpoint.damages if one.file]
    if not broken:
        return ()
    count = len(broken)
    what = f"A file of the {role} is" if count == 1 else f"{count} files of the {role} are"
    evidence = tuple(
        Evidence(
            "file", f"{path if path.endswith(f'/{one.file}') else f'{path}/{one.file}'}: {one.why}"
        )
        for one in broken
    )
    message = f"{what} damaged, incomplete or not readable."
    return (Finding(f"{role}-damaged", Severity.SEVERE, message, evidence, remedy_of(broken)),)


def tell_lack(checkpoint: Checkpoint, role: str, *, makes_up_weights: bool) -> tuple[Finding, ...]:
    """A finding where there is nothing to load at all; `makes_up_weights` is what it needs none."""
    lacks = [one for one in checkpoint.damages if not one.file and one.why in NOTHING_FOUND]
    if not lacks or makes_up_weights:
        return ()
    return (
        Finding(
            f"{role}-without-weights",
            Severity.SEVERE,
            f"The {role} cannot be loaded from where it is to lie.",
            tuple(Evidence("file", f"{checkpoint.path}: {one.why}") for one in lacks),
            remedy_of(lacks),
        ),
    )


def tell_doubts(checkpoint: Checkpoint, role: str) -> tuple[Finding, ...]:
    """A warning where the index names tensors that its files do not hold; engines say nothing."""
    if not checkpoint.doubts:
        return ()
    path = checkpoint.path.rstrip("/")
    return (
        Finding(
            f"{role}-index-differs",
            Severity.WARNING,
            f"The index of the {role} promises tensors that its files do not hold: such a tensor"
            " keeps its first random values.",
            tuple(Evidence("file", f"{path}/{one.file}: {one.why}") for one in checkpoint.doubts),
            "Compare the folder with its source; download what differs again.",
        ),
    )


def _missing(path: str, role: str) -> Finding:
    return Finding(
        f"{role}-missing",
        Severity.SEVERE,
        f"The {role} {path} does not exist on this host.",
        (Evidence("file", f"{path}: no such file or folder"),),
        "Correct the path, or download the checkpoint first.",
    )
