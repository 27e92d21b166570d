"""Joins the agent's modules into the one program text that is sent to a host."""

from __future__ import annotations

import ast
import zlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

PACKAGE = "firedup.host.agent"
SEPARATOR = "\f"  # where the boot line takes the program apart again
MODULES = (  # in the order in which they need one another
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
    "checkpoint",
    "slices",
    "main",
)


@dataclass(frozen=True, slots=True)
class Bundle:
    """The agent's program: its text and the version that the agent reports back."""

    text: bytes
    version: str


def join_modules(sources: dict[str, str]) -> str:
    """One program out of modules (name → source, in order) that import from one another.

    `from firedup.host.agent.x import y` lines are dropped, for the names are there already.
    Raises ValueError when two modules define the same top-level name, or when one imports a
    sibling in another form, or holds a form feed, which separates the modules.
    """
    owners: dict[str, str] = {}
    pieces = []
    for name, source in sources.items():
        tree = ast.parse(source)
        if SEPARATOR in source:
            raise ValueError(f"{name} holds a form feed")
        dropped: set[int] = set()
        nested = [node for node in ast.walk(tree) if node not in tree.body]
        if any(isinstance(node, ast.stmt) and _is_sibling_import(node, name) for node in nested):
            raise ValueError(f"{name} imports a sibling inside a block")
        for node in tree.body:
            if _is_sibling_import(node, name):
                dropped |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
            for defined in _defined_names(node):
                other = owners.setdefault(defined, name)
                if other != name and defined != "TYPE_CHECKING":
                    raise ValueError(f"{name} and {other} both define {defined}")
        lines = source.splitlines()
        kept = [line for number, line in enumerate(lines, 1) if number not in dropped]
        pieces.append(f"# ---- {name}\n" + "\n".join(kept).strip() + "\n")
    return SEPARATOR.join(pieces)


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


@cache
def load_bundle() -> Bundle:
    """The program of this version of firedup."""
    folder = files(PACKAGE)
    sources = {name: (folder / f"{name}.py").read_text(encoding="utf-8") for name in MODULES}
    text = join_modules(sources).encode("utf-8")
    return Bundle(text, f"{zlib.crc32(text):08x}")
