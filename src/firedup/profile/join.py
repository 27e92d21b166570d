"""Joins what many catalogue files say into one catalogue, the user's words over the built-in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from firedup.profile.failure import join_classes, with_class
from firedup.profile.parse import Parsed, parse_file
from firedup.profile.problem import Problem, label_of
from firedup.profile.read import SourceFile
from firedup.profile.schema import Catalogue, EngineProfile, Entry, FlagTable, Place


@dataclass(frozen=True, slots=True)
class Joined:
    """A catalogue with the problems met on the way, by the file's origin."""

    catalogue: Catalogue
    problems: tuple[Problem, ...]
    own: tuple[Entry, ...]  # the entries that are not built in
    engines: Mapping[str, Place]  # the engines that those files speak of, and where first


def join_files(files: Sequence[SourceFile], digest: str = "") -> Joined:
    """Parses all files into one catalogue; a user's rule or profile replaces the built-in one."""
    profiles: dict[str, EngineProfile] = {}
    entries: dict[str, Entry] = {}
    origins: dict[str, bool] = {}  # rule name → whether it came with firedup
    problems: list[Problem] = []
    engines: dict[str, Place] = {}
    tables: dict[str, FlagTable] = {}
    everything = _parse_all(files)
    known = join_classes([(item, f.is_builtin) for f, p in everything for item in p.described])
    classes = {item.id: item for item in known.classes}
    for file, parsed in everything:
        problems += parsed.problems
        if not file.is_builtin and (engine := parsed.engine or file.folder):
            engines.setdefault(engine, Place(file.path, 1))
        if parsed.profile is not None:
            profiles[parsed.profile.engine] = parsed.profile
        if parsed.flags is not None and (engine := parsed.engine or file.folder):
            tables[engine] = parsed.flags
        for written in parsed.entries:
            entry = with_class(written, classes)
            if isinstance(entry, Problem):
                problems.append(entry)
                continue
            name = entry.rule.name
            if name in entries and origins[name] == file.is_builtin:
                problems.append(
                    Problem(
                        f"{label_of(entry.rule)}: the id is taken",
                        entry.place,
                        (f"first used at {entries[name].place}",),
                        "Ids are unique within an engine.",
                    )
                )
                continue
            entries[name] = entry
            origins[name] = file.is_builtin
    own = tuple(entry for name, entry in entries.items() if not origins[name])
    with_flags = (
        replace(profile, flags=tables.get(engine, profile.flags))
        for engine, profile in profiles.items()
    )
    catalogue = Catalogue(
        tuple(with_flags), tuple(entries.values()), digest, known.families, known.classes
    )
    return Joined(catalogue, (*known.problems, *problems), own, engines)


def _parse_all(files: Sequence[SourceFile]) -> list[tuple[SourceFile, Parsed]]:
    """A folder's engine is what its files name, else the folder's own name."""
    first = [(file, parse_file(file.text, file.path, file.folder)) for file in files]
    named: dict[tuple[str | None, bool], str | None] = {
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
