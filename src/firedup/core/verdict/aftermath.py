"""Findings about a server that was up: it generates no more, or leaves processes behind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from firedup.core.event import Exited
from firedup.core.model import Evidence, Finding, Severity
from firedup.core.process import Process
from firedup.core.verdict.readiness import Readiness

_OK = 200
_MIB = 1 << 20
MOST_NAMED = 8


def tell_no_token(readiness: Readiness, refusal: str) -> Finding:
    """A request for a token brought none; `refusal` says why."""
    message = "The server answers and generates nothing: it is not ready."
    evidence = [Evidence("http", refusal)]
    if readiness.has_ceased:
        health = readiness.health
        message = "The server generated tokens before and generates none any more."
        if health is not None and health.status == _OK:
            message = "The health route says 200, and yet the server generates nothing any more."
            evidence.append(Evidence("http", "the health route answered 200"))
        elif health is not None:
            said = health.error or f"answered {health.status}"
            evidence.append(Evidence("http", f"the health route: {said}"))
    return Finding(
        "no-token",
        Severity.SEVERE,
        message,
        tuple(evidence),
        "Read what the server says to this request; when it says nothing, take the stacks"
        " of its processes (py-spy dump) before stopping it.",
    )


def tell_survivors(exited: Exited | None, processes: Iterable[Process]) -> Iterator[Finding]:
    """Processes of the server that lived on after its end, with the memory they held last."""
    if exited is None or not exited.survivors:
        return
    known = {process.pid: process for process in processes}
    evidence = [
        Evidence("sample", _name(pid, known.get(pid))) for pid in exited.survivors[:MOST_NAMED]
    ]
    if (more := len(exited.survivors) - MOST_NAMED) > 0:
        evidence.append(Evidence("sample", f"and {more} more"))
    count = len(exited.survivors)
    who = "1 process" if count == 1 else f"{count} processes"
    yield Finding(
        "left-behind",
        Severity.SEVERE,
        f"{who} of the server lived on after its end, and may hold memory, GPUs and the port.",
        tuple(evidence),
        "End what is left with firedup stop RUN.",
    )


def _name(pid: int, process: Process | None) -> str:
    if process is None:
        return f"pid {pid}"
    name = process.title or process.name
    return f"pid {pid} ({name}), {process.rss_bytes // _MIB} MiB of host memory at the last sample"
