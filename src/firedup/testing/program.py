"""Programs that play a script under an engine's name, so that they are taken for that engine."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from firedup.testing.script import check_script, render_script

if TYPE_CHECKING:
    from pathlib import Path

    from firedup.testing.script import Script

_BODY = """\
import sys
from pathlib import Path

from firedup.testing.engine import play
from firedup.testing.script import load_script

sys.exit(play(load_script(Path({script!r})), sys.argv[1:]))
"""


def make_program(folder: Path, name: str, script: Script) -> Path:
    """Write the executable `folder/name`; started with any flags it plays `script`.

    Its process looks like an installed console script, `python FOLDER/sglang serve --port 30000`,
    and it listens on the port that those flags name.
    """
    program = folder / name
    program.write_text(first_lines() + _body(folder, name, script))
    program.chmod(0o755)
    return program


def first_lines(python: str = sys.executable) -> str:
    """The beginning of a script that runs in `python`, whose path may hold blanks.

    The kernel splits what stands after `#!` at the first blank; a shell does not, and its command
    is a string without effect to Python.
    """
    if " " not in python:
        return f"#!{python}\n"
    return f"#!/bin/sh\n'''exec' \"{python}\" \"$0\" \"$@\"\n' '''\n"


def make_module(folder: Path, name: str, script: Script) -> tuple[str, ...]:
    """Write the module `name`, such as "sglang.launch_server", and return `python -m` with it.

    `folder` has to be on the PYTHONPATH of whoever runs the result.
    """
    *packages, module = name.split(".")
    place = folder.joinpath(*packages)
    place.mkdir(parents=True, exist_ok=True)
    place.joinpath(f"{module}.py").write_text(_body(folder, name, script))
    return (sys.executable, "-m", name)


def _body(folder: Path, name: str, script: Script) -> str:
    data = folder / f"{name}.script.json"
    data.write_text(render_script(check_script(script)))
    return _BODY.format(script=str(data.absolute()))
