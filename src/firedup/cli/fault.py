"""A fault of firedup itself: what is said of it, and the file that has the rest."""

from __future__ import annotations

import os
import sys
import tempfile
import time
import traceback
from collections.abc import Mapping
from pathlib import Path

from firedup import __version__


def report_fault(error: BaseException, environ: Mapping[str, str]) -> str:
    """Write the traceback of `error` to a file of its own and return the message for the user."""
    from firedup.view.redact import clean, printable_block, redact

    text = "".join(traceback.format_exception(error))
    words = " ".join(["firedup", *sys.argv[1:]])
    head = f"firedup {__version__}, Python {sys.version.split()[0]}\n{words}\n\n"
    place = _write(redact(printable_block(head + text)), environ)
    kind = type(error).__name__
    return (
        f"a fault of firedup itself: {clean(f'{kind}: {error}')}\n"
        f"  {f'its traceback is in {place}' if place else 'its traceback could not be written'}\n"
        "No server was touched by it. Please report it with that file; secrets are taken out."
    )


def _write(text: str, environ: Mapping[str, str]) -> str | None:
    """The path of the new file, None when there is no place for it."""
    home = Path(environ.get("XDG_STATE_HOME") or Path("~/.local/state").expanduser())
    name = time.strftime("fault-%Y%m%d-%H%M%S-")
    for folder in (home / "firedup" / "faults", Path(tempfile.gettempdir())):
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle, path = tempfile.mkstemp(prefix=name, suffix=".txt", dir=folder)
            with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
                file.write(text)
        except OSError:
            continue
        return path
    return None
