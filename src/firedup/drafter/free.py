"""Finds the place of a corrected copy: a new or empty folder, outside of what it is made from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from firedup.core.error import UsageError
from firedup.drafter.pair import split_place

_TODO = "Name a folder that does not exist yet."


def find_free_place(text: str, kept: Mapping[str, Path | None]) -> Path:
    """Where the copy goes, from the root. UsageError where it cannot go.

    `kept` are the folders in which nothing may be written, by what they are called.
    """
    if not text.strip():
        raise UsageError("no folder is named for the corrected copy", todo=_TODO)
    if (host := split_place(text)[0]) not in (None, "local"):
        raise UsageError(
            "the corrected copy is written on this machine",
            where=text,
            todo=f"Name a folder here, or run firedup on {host}.",
        )
    try:
        return _free_place(Path(text).expanduser(), kept)
    except (OSError, RuntimeError) as error:  # RuntimeError: a loop of links, to older Pythons
        known = error if isinstance(error, OSError) else OSError(str(error))
        raise unwritten(text, known) from error


def unwritten(text: str, error: OSError) -> UsageError:
    """What is said of a copy that cannot be written."""
    why = error.strerror or str(error)
    return UsageError(
        f"the corrected copy cannot be written: {why}",
        where=str(error.filename2 or error.filename or text),
        todo=f"Name another folder than {text}, one that can be made and has room.",
    )


def _free_place(out: Path, kept: Mapping[str, Path | None]) -> Path:
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise UsageError("the copy's folder is something else already", where=str(out), todo=_TODO)
    place = out.resolve()
    for name, folder in kept.items():
        if folder is not None and folder.resolve() in {place, *place.parents}:
            raise UsageError(
                f"the copy cannot lie inside the {name}'s own folder",
                where=str(out),
                todo="Name a folder beside it.",
            )
    if out.exists() and any(out.iterdir()):
        raise UsageError("the copy's folder is not empty", where=str(out), todo=_TODO)
    return place
