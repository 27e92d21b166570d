"""Finds and reads catalogue files, built in and the user's, without understanding them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from firedup.core.error import ProfileError

# By its path: `importlib.resources` would load what reads zip archives, at each start.
_CATALOGUE = Path(__file__).parent / "catalogue"


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One catalogue file as read. `folder` is the name of its folder, None for a lone file."""

    path: str
    text: str
    folder: str | None
    is_builtin: bool


def builtin_folders() -> tuple[str, ...]:
    """The names of the folders that come with firedup: the engines, "generic" and "shared"."""
    return tuple(
        f.name for f in _CATALOGUE.iterdir() if f.is_dir() and not f.name.startswith(("_", "."))
    )


def builtin_files() -> tuple[SourceFile, ...]:
    """The files that come with firedup, "shared" first, then the engines by name."""
    names = sorted(builtin_folders(), key=lambda name: (name != "shared", name))
    folders = [_CATALOGUE / name for name in names]
    return tuple(
        SourceFile(
            f"catalogue/{folder.name}/{file.name}",
            file.read_text(encoding="utf-8"),
            folder.name,
            is_builtin=True,
        )
        for folder in folders
        for file in _toml_files(folder)
    )


def user_files(paths: Iterable[Path]) -> tuple[SourceFile, ...]:
    """The files of `paths`, each a TOML file or a folder of them.

    Raises ProfileError when one cannot be read.
    """
    found: list[SourceFile] = []
    for path in paths:
        try:
            files: list[tuple[Path, str | None]]
            if path.is_dir():
                files = [(file, path.resolve().name) for file in _toml_files(path)]
                if not files:
                    raise ProfileError(f"no *.toml file in {path}", todo="Name a profile's folder.")
            else:
                files = [(path, None)]
            found += [
                SourceFile(str(file), file.read_text(encoding="utf-8"), folder, is_builtin=False)
                for file, folder in files
            ]
        except (OSError, UnicodeDecodeError) as error:
            raise ProfileError(f"cannot read the profile {path}", why=str(error)) from error
    return tuple(found)


def digest_of(files: Sequence[SourceFile], salt: str = "") -> str:
    """A name for the content of `files`: the same text under the same names gives the same."""
    digest = hashlib.sha256(salt.encode())
    for file in files:
        for part in (file.path, file.folder or "", file.text):
            data = part.encode()
            digest.update(b"%d:" % len(data) + data)
    return digest.hexdigest()[:32]


def _toml_files(folder: Path) -> list[Path]:
    """profile.toml first, then the rest by name."""
    files = [f for f in folder.iterdir() if f.name.endswith(".toml") and f.is_file()]
    return sorted(files, key=lambda f: (f.name != "profile.toml", f.name))
