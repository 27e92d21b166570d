"""Whether the demo's engine can run on this machine, and what to do where it cannot."""

from __future__ import annotations

import sys

from firedup.core.error import UsageError
from firedup.demo.engine import EngineMissingError, load_engine

REPLAY_WORKS = "firedup demo --replay works without it."


def check_machine() -> None:
    """Raise UsageError, with what to install, when the demo's engine cannot run here."""
    if not sys.platform.startswith("linux"):
        raise UsageError(
            "the demo launches servers, and they run on Linux hosts",
            todo="firedup demo --replay works here too.",
        )
    try:
        load_engine()
    except EngineMissingError as missing:
        what, _, todo = str(missing).partition("\n")
        hint = todo if "--replay" in todo else f"{todo}\n{REPLAY_WORKS}"
        raise UsageError(what, todo=hint) from missing
