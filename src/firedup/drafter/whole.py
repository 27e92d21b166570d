"""Whether a checkpoint on a host is whole: every file there, every file as long as it must be."""

from __future__ import annotations

from firedup.core.error import UsageError
from firedup.core.model import Evidence, Finding, Severity
from firedup.drafter.checkpoint import Checkpoint, Damage
from firedup.drafter.place import Place
from firedup.drafter.remedy import remedy_of


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
    """A finding for each file that is not what it must be.

    A folder without weights is none: an engine can be told to make them up.
    """
    path = checkpoint.path.rstrip("/")
    return tuple(
        _broken(path if path.endswith(f"/{one.file}") else f"{path}/{one.file}", role, one)
        for one in checkpoint.damages
        if one.file
    )


def _missing(path: str, role: str) -> Finding:
    return Finding(
        f"{role}-missing",
        Severity.SEVERE,
        f"The {role} {path} does not exist on this host.",
        (Evidence("file", f"{path}: no such file or folder"),),
        "Correct the path, or download the checkpoint first.",
    )


def _broken(path: str, role: str, damage: Damage) -> Finding:
    return Finding(
        f"{role}-damaged",
        Severity.SEVERE,
        f"A file of the {role} is damaged, incomplete or not readable.",
        (Evidence("file", f"{path}: {damage.why}"),),
        remedy_of((damage,)),
    )
