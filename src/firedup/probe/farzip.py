"""The client as one zip of modules, for a host that has Python and nothing of firedup."""

from __future__ import annotations

import ast
import io
import zipfile
from functools import cache
from importlib.resources import files

ENTRY = "firedup.probe.far"
OLDEST = (3, 11)
# Says by its exit status whether an interpreter will do.
CHECK = (
    f"import sys\nif sys.version_info < {OLDEST}: sys.exit(1)\n"
    "import asyncio, os, ssl, zipimport, zlib\nos.memfd_create"
)
# Reads the agent's line and then the zip from its input. That lies in memory alone, no file of the
# host ever holds it; the rest of the input is the program's.
_LOADER = """
import os, sys
greeting = b""
while not greeting.endswith(b"\\n"):
    greeting += os.read(0, 1) or sys.exit("the input ended before its first line did")
left, memory = int(sys.argv[1]), os.memfd_create("firedup")
while left:
    piece = os.read(0, min(left, 65536)) or sys.exit("the input ended before the program did")
    os.write(memory, piece)
    left -= len(piece)
sys.path.insert(0, "/proc/self/fd/%d" % memory)
from firedup.probe.far import main
main(greeting)
"""
# Alike for every archive, so that the same modules make the same bytes.
_NO_DATE = (1980, 1, 1, 0, 0, 0)


def far_command(python: str) -> tuple[str, ...]:
    """The command that runs the client on a host; its input goes on with `far_program()`.

    Nothing of the interpreter's environment or site packages takes part.
    """
    return (python, "-I", "-S", "-c", _LOADER, str(len(far_program())))


@cache
def far_program() -> bytes:
    """A zip of the entry and of all modules of firedup that it needs."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, source in sorted(_needed(ENTRY).items()):
            archive.writestr(zipfile.ZipInfo(path, _NO_DATE), source, zipfile.ZIP_DEFLATED)
    return held.getvalue()


def _needed(entry: str) -> dict[str, bytes]:
    """Path → source of `entry`, of what it imports at its top level, and of their packages.

    What is imported inside a function is left out: those places do without it.
    """
    found: dict[str, bytes] = {}
    waiting = [entry]
    while waiting:
        name = waiting.pop()
        path = _path_of(name)
        if path in found:
            continue
        found[path] = _read(path)
        parent = name.rpartition(".")[0]
        waiting += [parent] if parent else []
        for node in ast.parse(found[path]).body:
            match node:
                case ast.ImportFrom(module=str(module)) if module.startswith("firedup"):
                    waiting.append(module)
                case _:
                    pass
    return found


def _path_of(name: str) -> str:
    """Where a module lies in its folder and in the zip."""
    _, *parts = name.split(".")
    folder = files("firedup")
    is_module = bool(parts) and folder.joinpath(*parts[:-1], f"{parts[-1]}.py").is_file()
    return "/".join(("firedup", *parts)) + (".py" if is_module else "/__init__.py")


def _read(path: str) -> bytes:
    _, *parts = path.split("/")
    return files("firedup").joinpath(*parts).read_bytes()
