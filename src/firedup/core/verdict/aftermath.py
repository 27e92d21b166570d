"""What is said of a server that was up: for how long, what it lacks now, what it left behind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from firedup.core.event import Accepted, Exited
from firedup.core.model import Evidence, Finding, Severity
from firedup.core.process import Process
from firedup.core.verdict.lifecycle import POLITE_SIGNALS
from firedup.core.verdict.outside import Outside
from firedup.core.verdict.reader import LogReader
from firedup.core.verdict.readiness import Readiness
from firedup.core.verdict.startup import Moment
from firedup.core.verdict.vital import Loss, Vitals

_OK = 200
_NS = 1_000_000_000
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
        " of its processes (firedup stacks) before stopping it.",
    )


def tell_speculation_off(accepted: Accepted | None) -> Finding:
    """The server was asked to speculate and does not."""
    why = accepted.acceptance.why_not if accepted else None
    return Finding(
        "speculation-off",
        Severity.SEVERE,
        "The server runs without the speculative decoding that was asked for.",
        (Evidence("http", why or "tokens were generated and no draft was proposed"),),
        "Check that the drafter fits the target, and read what the log says about it.",
    )


def measure_service(ready: Moment | None, end_ns: int, last_log_ns: int | None) -> float | None:
    """For how many seconds a server was up: until `end_ns`, or by the log's own stamps."""
    if ready is None:
        return None
    if ready.host_ns is not None:
        return max(0.0, (end_ns - ready.host_ns) / _NS)
    if ready.log_ns is None or last_log_ns is None:
        return None
    return max(0.0, (last_log_ns - ready.log_ns) / _NS)


def find_loss(
    vitals: Vitals, reader: LogReader, readiness: Readiness, outside: Outside, now_ns: int
) -> Loss | None:
    """A process without which a server that was up serves nothing, and which ended by itself."""
    if reader.startup.ready_at is None and not readiness.has_generated:
        return None
    exited, token, stop_line = outside.exited, readiness.token, reader.diagnosis.stopped_at
    stops = [outside.stop.at_ns if outside.stop else None, stop_line.host_ns if stop_line else None]
    return vitals.find_loss(
        exited.at_ns if exited else now_ns,
        has_ended=exited is not None and exited.signal not in POLITE_SIGNALS,
        stopped_ns=min((at_ns for at_ns in stops if at_ns is not None), default=None),
        answered_ns=token.at_ns if token is not None and token.has_answered else None,
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
