"""How a server ended that was asked to, or why it did not, in words and as JSON."""

from __future__ import annotations

from firedup.core.error import FiredupError
from firedup.core.event import Exited
from firedup.core.model import RunLabel
from firedup.view.quantity import render_rfc3339
from firedup.view.record import SCHEMA
from firedup.view.redact import clean
from firedup.view.result import record_label


def tell_end(end: Exited | None) -> str:
    """How a server ended, after its name."""
    if end is not None and end.signal is not None:
        return f"was ended by signal {end.signal}"
    if end is not None and end.code is not None:
        return f"has ended with exit status {end.code}"
    return "has ended; its exit status is unknown"


def record_end(
    label: RunLabel, end: Exited | FiredupError | None, *, was_alive: bool
) -> dict[str, object]:
    """The object that `stop --json` prints for a run, or for a node of one."""
    told = end if isinstance(end, Exited) else None
    return {
        "schema": SCHEMA,
        "run": record_label(label),
        "was_alive": was_alive,
        "stopped": not isinstance(end, FiredupError),
        "exit": record_exit(told),
        "ended": render_rfc3339(told.wall_ns) if told else None,
        "clock": "host",
        "what": clean(end.what) if isinstance(end, FiredupError) else None,
    }


def record_exit(end: Exited | None) -> dict[str, object] | None:
    """Exit status and signal, one of them None; None where neither is known."""
    if end is None or (end.code is None and end.signal is None):
        return None
    return {"code": end.code, "signal": end.signal}
