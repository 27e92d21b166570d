"""The command line: parses words, calls a session, feeds a view, returns the exit status."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from firedup import __version__
from firedup.cli.overview import COMPLETE, render_overview


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `firedup ARGUMENTS` (None: those of this process) and return its exit status.

    What is asked most is answered without importing anything that is not needed for it.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        if words == ["--version"]:
            print(f"firedup {__version__}", flush=True)  # noqa: T201 - the answer
            return 0
        if words in (["--help"], ["-h"], ["help"]):
            print(render_overview(), flush=True)  # noqa: T201 - the answer
            return 0
        if not words and COMPLETE not in os.environ:
            print(render_overview(), file=sys.stderr)  # noqa: T201 - the answer
            return 2
        from firedup.cli.door import run_command

        return run_command(words)
    except KeyboardInterrupt:  # before there was anything to end
        return 130
    except BrokenPipeError:  # the reader has seen enough; nothing more may be flushed at the end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
