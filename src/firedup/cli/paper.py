"""The paper that this process's standard output is."""

from __future__ import annotations

import os
import shutil
import sys

from firedup.view.paper import Paper, choose_paper


def choose_output(*, no_color: bool = False, width: int | None = None) -> Paper:
    """Width, colour and letters for standard output."""
    environ = {**os.environ, "NO_COLOR": "1"} if no_color else os.environ
    return choose_paper(
        columns=width or shutil.get_terminal_size().columns,
        is_terminal=sys.stdout.isatty(),
        encoding=sys.stdout.encoding,
        environ=environ,
    )
