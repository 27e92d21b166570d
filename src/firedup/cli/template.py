"""A first profile for an engine, written into a folder of its own."""

from __future__ import annotations

import os
import re
from importlib import resources
from pathlib import Path

from firedup.core.error import StoreError, UsageError
from firedup.profile.read import builtin_folders

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def write_profile(name: str, folder: Path | None) -> Path:
    """Write FOLDER/NAME/profile.toml (None: among the user's profiles) and return its path.

    Raises UsageError for a name that cannot be used, is a built-in engine's, or is taken.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} cannot be the name of an engine",
            todo="Small letters, digits and single hyphens, such as my-engine.",
        )
    if name in builtin_folders():
        raise UsageError(
            f"{name!r} is an engine that firedup knows",
            why="a profile of this name would replace what is known of its command and its routes",
            todo=f'Take another name; rules for {name} go into a file with engine = "{name}" and'
            " only [[rule]] tables.",
        )
    if folder is None:
        home = Path(os.environ.get("XDG_CONFIG_HOME") or Path("~/.config").expanduser())
        folder = home / "firedup" / "profiles"
    path = folder / name / "profile.toml"
    text = (resources.files("firedup.cli") / "template.toml").read_text(encoding="utf-8")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(text.replace("ENGINE", name))
    except FileExistsError as error:
        raise UsageError(f"{path} is there already", todo="Edit it, or take another name.") from (
            error
        )
    except OSError as error:
        raise StoreError(f"{path} cannot be written", why=error.strerror) from error
    return path
