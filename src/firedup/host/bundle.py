"""Joins the agent's modules into the one program text that is sent to a host."""

from __future__ import annotations

import ast
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

PACKAGE = "firedup.host.agent"
SEPARATOR = "\f"  # where part.py takes the program apart again
_SIBLINGS = re.compile(
    rf"^from {re.escape(PACKAGE)}\.(\w+) import (?:\([^)]*\)|[^(\n]*)[^\n]*\n?", re.MULTILINE
)
MODULES = (  # the first one runs the others when they are needed
    "part",
    "system",
    "boot",
    "wire",
    "hand",
    "poller",
    "stream",
    "turn",
    "serve",
    "file",
    "inotify",
    "sibling",
    "logfile",
    "mark",
    "follow",
    "look",
    "proc",
    "diag",
    "port",
    "memory",
    "nvml",
    "shard",
    "kernel",
    "around",
    "engine",
    "carry",
    "carried",
    "begin",
    "spawn",
    "holder",
    "task",
    "ptrace",
    "pyspy",
    "armed",
    "stack",
    "key",
    "web",
    "pour",
    "talk",
    "tunnel",
    "act",
    "run",
    "variables",
    "logind",
    "launch",
    "step",
    "hook",
    "tell",
    "bell",
    "moving",
    "vital",
    "still",
    "scan",
    "ask",
    "judge",
    "record",
    "keep",
    "document",
    "tensorfile",
    "fold",
    "ggufhead",
    "vocabulary",
    "shardindex",
    "modelplace",
    "checkpoint",
    "slices",
    "before",
    "main",
)


@dataclass(frozen=True, slots=True)
class Bundle:
    """The agent's program: its text and the version that the agent reports back."""

    text: bytes
    version: str


def join_modules(sources: Mapping[str, str]) -> str:
    """One program out of modules (name → source, in order) that import from one another.

    `from firedup.host.agent.x import y` statements become the names of the needed modules in the
    header of each: all share one space of names.
    `check_modules` says whether the modules can be joined at all; every start of firedup joins
    them, which therefore takes no look at their syntax.
    """
    pieces = (
        f"# ---- {name}: {' '.join(dict.fromkeys(_SIBLINGS.findall(source)))}".rstrip()
        + "\n"
        + _SIBLINGS.sub("", source).strip()
        + "\n"
        for name, source in sources.items()
    )
    return SEPARATOR.join(pieces)


def check_modules(sources: Mapping[str, str]) -> None:
    """Raises ValueError unless `join_modules` makes one program of these modules.

    No two may define the same top-level name, import a sibling in another form than
    `from firedup.host.agent.x import y`, or hold a form feed, which separates the modules.
    """
    owners: dict[str, str] = {}
    for name, source in sources.items():
        tree = ast.parse(source)
        if SEPARATOR in source:
            raise ValueError(f"{name} holds a form feed")
        nested = [node for node in ast.walk(tree) if node not in tree.body]
        if any(isinstance(node, ast.stmt) and _is_sibling_import(node, name) for node in nested):
            raise ValueError(f"{name} imports a sibling inside a block")
        rest = [node for node in tree.body if not _is_sibling_import(node, name)]
        for node in rest:
            for defined in _defined_names(node):
                other = owners.setdefault(defined, name)
                if other != name and defined != "TYPE_CHECKING":
                    raise ValueError(f"{name} and {other} both define {defined}")
        joined = ast.parse(join_modules({name: source})).body
        if [ast.dump(node) for node in joined] != [ast.dump(node) for node in rest]:
            raise ValueError(f"{name} has something that only looks like a sibling's import")


def _is_sibling_import(node: ast.stmt, module: str) -> bool:
    match node:
        case ast.ImportFrom(module=str(source), names=names) if source.startswith(PACKAGE):
            if any(alias.asname for alias in names):
                raise ValueError(f"{module}: a name from {source} is renamed")
            return True
        case ast.Import(names=names) if any(a.name.startswith("firedup") for a in names):
            raise ValueError(f"{module}: only `from {PACKAGE}.x import y` can be joined")
    return False


def _defined_names(node: ast.stmt) -> list[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.Assign(targets=targets):
            return [
                leaf.id
                for target in targets
                for leaf in ast.walk(target)
                if isinstance(leaf, ast.Name)
            ]
    return []


def read_modules() -> dict[str, str]:
    """The sources of the agent, in their order."""
    folder = files(PACKAGE)
    return {name: (folder / f"{name}.py").read_text(encoding="utf-8") for name in MODULES}


@cache
def load_bundle() -> Bundle:
    """The program of this version of firedup."""
    text = join_modules(read_modules()).encode("utf-8")
    return Bundle(text, f"{zlib.crc32(text):08x}")
