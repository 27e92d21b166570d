"""Finds catalogue files, built in and the user's, and joins what they say into one catalogue."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from firedup.core.error import ProfileError
from firedup.profile.parse import Parsed, parse_file
from firedup.profile.problem import Problem
from firedup.profile.schema import Catalogue, EngineProfile, Entry


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One catalogue file as read. `folder` is the name of its folder, None for a lone file."""

    path: str
    text: str
    folder: str | None
    is_builtin: bool


@dataclass(frozen=True, slots=True)
class Joined:
    """A catalogue with the problems met on the way, by the file's origin."""

    catalogue: Catalogue
    problems: tuple[Problem, ...]
    own: tuple[Entry, ...]  # the entries that are not built in
    engines: tuple[str, ...]  # the engines that those files speak of


def builtin_files() -> tuple[SourceFile, ...]:
    """The files that come with firedup, "shared" first, then the engines by name."""
    root = resources.files("firedup.profile") / "catalogue"
    folders = [f for f in root.iterdir() if f.is_dir() and not f.name.startswith(("_", "."))]
    folders.sort(key=lambda f: (f.name != "shared", f.name))
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
            if path.is_dir():
                files = [(Path(str(file)), path.resolve().name) for file in _toml_files(path)]
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


def join_files(files: Sequence[SourceFile], digest: str = "") -> Joined:
    """Parses all files into one catalogue; a user's rule or profile replaces the built-in one."""
    profiles: dict[str, EngineProfile] = {}
    entries: dict[str, Entry] = {}
    origins: dict[str, bool] = {}  # rule name → whether it came with firedup
    problems: list[Problem] = []
    engines: dict[str, None] = {}
    for file, parsed in _parse_all(files):
        problems += parsed.problems
        if not file.is_builtin:
            engines |= {e: None for e in (parsed.engine or file.folder,) if e}
        if parsed.profile is not None:
            profiles[parsed.profile.engine] = parsed.profile
        for entry in parsed.entries:
            name = entry.rule.name
            if name in entries and origins[name] == file.is_builtin:
                problems.append(
                    Problem(
                        f"{name}: the id is taken",
                        entry.place,
                        (f"first used at {entries[name].place}",),
                        "Ids are unique within an engine.",
                    )
                )
                continue
            entries[name] = entry
            origins[name] = file.is_builtin
    own = tuple(entry for name, entry in entries.items() if not origins[name])
    catalogue = Catalogue(tuple(profiles.values()), tuple(entries.values()), digest)
    return Joined(catalogue, tuple(problems), own, tuple(engines))


def _parse_all(files: Sequence[SourceFile]) -> list[tuple[SourceFile, Parsed]]:
    """A folder's engine is what its files name, else the folder's own name."""
    first = [(file, parse_file(file.text, file.path, file.folder)) for file in files]
    named = {
        (file.folder, file.is_builtin): parsed.engine
        for file, parsed in first
        if file.folder and parsed.engine
    }
    return [
        (file, parse_file(file.text, file.path, engine))
        if (engine := named.get((file.folder, file.is_builtin), file.folder)) != file.folder
        else (file, parsed)
        for file, parsed in first
    ]


def _toml_files(folder: Traversable) -> list[Traversable]:
    """profile.toml first, then the rest by name."""
    files = [f for f in folder.iterdir() if f.name.endswith(".toml") and f.is_file()]
    return sorted(files, key=lambda f: (f.name != "profile.toml", f.name))
