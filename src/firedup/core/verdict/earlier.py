"""What became of the starts before the last one, where a log holds several."""

from __future__ import annotations

from firedup.core.model import Evidence, Finding, Severity, Stage
from firedup.core.verdict.diagnosis import Diagnosis
from firedup.core.verdict.startup import Startup
from firedup.core.verdict.suspect import Fatality

MAX_EARLIER = 20  # a server that restarts for ever may not fill memory


def tell_earlier(startup: Startup, diagnosis: Diagnosis, version: str | None) -> Finding:
    """How the start that is over by now went, as far as its own lines tell."""
    number, stage = startup.starts, startup.stage
    evidence: tuple[Evidence, ...] = ()
    if diagnosis.fatality() is not Fatality.NONE and (cause := diagnosis.cause(version=version)):
        what = f"crashed in {cause.stage}" if cause.stage else "crashed"
        what += f" ({cause.failure})"
        evidence = cause.evidence
    elif (stop := diagnosis.stop_line) is not None:
        what = "came up and was stopped" if startup.is_ready else "was stopped before it was up"
        evidence = (Evidence("line", stop.text, stop.number or None, stop.offset),)
    elif startup.is_ready:
        what = "came up; its end is not told"
    else:
        place = f" in {stage}" if stage not in (None, Stage.ARGS) else ""
        what = f"ended{place} without a word"
    return Finding(
        f"earlier-start-{number}",
        Severity.NOTE,
        f"Start {number} of this log {what}.",
        evidence,
    )
