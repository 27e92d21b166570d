"""TOML text → typed profile and rules, with every problem of the file at once."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from firedup.core.model import Severity, Stage
from firedup.core.rule import Edge, Role, Rule
from firedup.profile.failure import read_class, read_family, read_mentions, read_remedies
from firedup.profile.part import read_command, read_compose, read_flags, read_http, read_vital
from firedup.profile.place import Outline
from firedup.profile.problem import Problem
from firedup.profile.schema import (
    SHARED,
    EngineProfile,
    Entry,
    FailureClass,
    Family,
    FlagTable,
    Place,
    StopRow,
)
from firedup.profile.table import Table

SCHEMA = 1
_SIGNALS = ("TERM", "INT", "KILL", "QUIT")
_RECEIVERS = ("main", "group")
_KEBAB = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_AT_LINE = re.compile(r"\(at line (\d+)")


@dataclass(frozen=True, slots=True)
class Parsed:
    """What one file says; `profile` is None for a file that holds rules only."""

    profile: EngineProfile | None
    entries: tuple[Entry, ...]
    problems: tuple[Problem, ...]
    engine: str | None = None  # the engine the file itself names
    described: tuple[FailureClass | Family, ...] = ()
    flags: FlagTable | None = None


@lru_cache(maxsize=256)
def parse_file(text: str, path: str, engine: str | None = None) -> Parsed:
    """Reads a catalogue file; `engine` is what its folder says it belongs to ("shared" too)."""
    problems: list[Problem] = []
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = _AT_LINE.search(str(error))
        place = Place(path, int(found[1]) if found else text.count("\n") + 1)
        problem = Problem(f"{path} is not TOML: {error}", place)
        return Parsed(None, (), (problem,))
    outline = Outline(text)
    top = Table(
        data,
        label=path.rpartition("/")[2],
        path=path,
        outline=outline,
        span=outline.table(""),
        problems=problems,
    )
    reader = _Reader(path, outline, problems)
    if (schema := top.integer("schema")) not in (None, SCHEMA):
        top.complain(f"schema {schema} is not known; this version reads {SCHEMA}", "schema")
    named = top.text("engine")
    engine = named or engine
    is_profile = any(key in data for key in _PROFILE_KEYS)
    profile = reader.profile(top, engine) if is_profile else None
    top.knows("extends", *_PROFILE_KEYS)
    flags = reader.flags(top) if "flags" in data else None
    tables = reader.tables("rule", top)
    entries = tuple(
        entry
        for index, table in enumerate(tables)
        if (entry := reader.entry(table, index, engine)) is not None
    )
    families, classes = tuple(reader.families(top)), tuple(reader.classes(top))
    top.close()
    return Parsed(profile, entries, tuple(problems), named, (*families, *classes), flags)


_PROFILE_KEYS = ("title", "command", "compose", "http", "processes", "stop")


class _Reader:
    def __init__(self, path: str, outline: Outline, problems: list[Problem]) -> None:
        self._path = path
        self._outline = outline
        self._problems = problems

    def tables(self, key: str, top: Table) -> list[dict[str, object]]:
        value = top.any(key)
        if value is None:
            return []
        if isinstance(value, list) and all(isinstance(item, dict) for item in value):
            return value
        top.complain(f"{key} must be written as [[{key}]] tables", key)
        return []

    def _table(self, data: Mapping[str, object], label: str, name: str, index: int = 0) -> Table:
        return Table(
            data,
            label=label,
            path=self._path,
            outline=self._outline,
            span=self._outline.table(name, index),
            problems=self._problems,
        )

    def _part(self, top: Table, name: str) -> Table:
        value = top.any(name)
        if value is not None and not isinstance(value, dict):
            top.complain(f"{name} must be a [{name}] table", name)
        data = value if isinstance(value, dict) else {}
        return self._table(data, f"[{name}]", name)

    def profile(self, top: Table, engine: str | None) -> EngineProfile | None:
        if engine is None:
            top.complain('a profile needs engine = "…"')
        command = read_command(self._part(top, "command"))
        compose = read_compose(self._part(top, "compose"))
        http = read_http(self._part(top, "http"))
        vital = read_vital(self._part(top, "processes"))
        stop = self._stop(top)
        title = top.text("title") or engine or ""
        extends = top.texts("extends") if top.has("extends") else (SHARED,)
        if engine is None:
            return None
        return EngineProfile(engine, title, extends, command, compose, http, stop, vital=vital)

    def flags(self, top: Table) -> FlagTable:
        """The table of all flags; those that are not written as usage is are problems."""
        return read_flags(self._part(top, "flags"))

    def _stop(self, top: Table) -> tuple[StopRow, ...]:
        rows = []
        for index, data in enumerate(self.tables("stop", top)):
            t = self._table(data, "[[stop]]", "stop", index)
            stages = tuple(
                stage
                for word in t.texts("stages")
                if (stage := t.choose(word, "stages", Stage)) is not None
            )
            signal = t.text("signal")
            if signal not in _SIGNALS:
                t.complain(f"signal must be one of {', '.join(_SIGNALS)}", "signal")
            to = t.text("to") or "main"
            if to not in _RECEIVERS:
                t.complain('to must be "main" or "group"', "to")
            grace_s = t.number("grace_s", 10.0)
            t.close()
            rows.append(StopRow(signal or "TERM", stages, to, grace_s))
        return tuple(rows)

    def families(self, top: Table) -> Iterator[Family]:
        for index, data in enumerate(self.tables("family", top)):
            t = self._table(data, _label("family", data, index), "family", index)
            yield read_family(t)
            t.close()

    def classes(self, top: Table) -> Iterator[FailureClass]:
        for index, data in enumerate(self.tables("class", top)):
            t = self._table(data, _label("class", data, index), "class", index)
            yield read_class(t)
            t.close()

    def entry(self, data: dict[str, object], index: int, engine: str | None) -> Entry | None:
        label = _label("rule", data, index)
        if engine is not None:
            label = f"profile {engine}, {label}"
        before = len(self._problems)
        t = self._table(data, label, "rule", index)
        identifier = t.text("id")
        if identifier is None:
            t.complain('a rule needs id = "…", the symptom in kebab-case')
        elif not _KEBAB.fullmatch(identifier):
            t.complain(
                f'id "{identifier}" is not kebab-case', "id", todo="Such as load-weight-begin."
            )
        pattern = t.text("pattern")
        if not pattern:
            t.complain("a rule needs pattern = '…'", "pattern")
        rule = Rule(
            id=identifier or "",
            pattern=pattern or "",
            engine=None if engine in (None, SHARED) else engine,
            stage=t.choice("stage", Stage),
            edge=t.choice("edge", Edge),
            role=t.choice("role", Role),
            failure=t.text("class"),
            finding=t.text("finding"),
            severity=t.choice("severity", Severity) or Severity.WARNING,
            meaning=t.text("meaning") or "",
            remedy=t.text("remedy"),
            remedies=read_remedies(t),
            mentions=read_mentions(t),
            unit=t.text("unit") or "",
            is_identity=t.flag("identity"),
            is_start=t.flag("start"),
            is_stop=t.flag("stop"),
            is_final=t.flag("final"),
            awaits_ranks=t.flag("awaits_ranks"),
            by_stage=t.flag("by_stage"),
            gauges=t.texts("gauges"),
            literal=t.text("literal"),
            since=t.text("since"),
            until=t.text("until"),
            source=t.text("source") or "",
            matches=t.texts("matches"),
            misses=t.texts("misses"),
        )
        also = t.texts("also")
        t.close()
        place = t.place("pattern") if pattern else t.place()
        class_place = t.place("class") if rule.failure else None
        sound = len(self._problems) == before
        return Entry(rule, place, also, class_place) if sound else None


def _label(kind: str, data: Mapping[str, object], index: int) -> str:
    return f"{kind} {data.get('id', f'number {index + 1}')}"
