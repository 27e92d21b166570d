"""Findings that no single line makes: nothing moves, output is held back, ranks are waited for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from firedup.core.event import StopAsked
from firedup.core.model import Cause, Evidence, Finding, Progress, Severity, Stage, Verdict
from firedup.core.rule import Role
from firedup.core.verdict.hold import Stall
from firedup.core.verdict.liveness import Pulse
from firedup.core.verdict.roster import Missing
from firedup.core.verdict.silence import Silence

# From this silence on a busy process is said to buffer its output.
BUFFERED_S = 60.0
_FOLLOWING = (Role.VICTIM.value, Role.WRAPPER.value)


def note_victim(cause: Cause | None) -> Iterator[str]:
    """What to keep in mind where the best line is one that only follows from a failure."""
    if cause is not None and cause.role in _FOLLOWING:
        yield "The first fault is not in this log: the line shown follows from it."


def tell_stall(stall: Stall | None) -> Iterator[Finding]:
    """What the samples of a server's processes show, where they do not go on."""
    if stall is not None:
        yield Finding(stall.finding, Severity.SEVERE, stall.message, stall.evidence, stall.remedy)


def tell_stall_stop(stop: StopAsked | None) -> Iterator[Finding]:
    """What stood still when firedup stopped the server for that by itself."""
    if stop is not None and (stall := stop.stall) is not None:
        said = f"firedup stopped the server ({stop.by}), since it was stalled. {stall.message}"
        yield replace(stall, message=said)


def tell_quiet(
    pulse: Pulse, bar: Progress | None, work: tuple[Evidence, ...] = ()
) -> Iterator[Finding]:
    """Why the log of a start that works says nothing; `bar` is where it stands.

    `work` is what its processes can be seen to do.
    """
    if pulse.quiet_s is None or pulse.quiet_s < BUFFERED_S or not pulse.is_busy:
        return
    if bar is not None and bar.done >= bar.total:
        yield Finding(
            "busy-after-full-bar",
            Severity.NOTE,
            "The bar is full and the stage goes on: repacking or slower ranks print nothing.",
            (Evidence("sample", f"busy, and the log silent for {pulse.quiet_s:.0f} s"), *work),
        )
    else:
        yield Finding(
            "log-quiet-process-busy",
            Severity.NOTE,
            "The process is busy and the log is quiet: its output is perhaps buffered.",
            (Evidence("sample", f"the log has been silent for {pulse.quiet_s:.0f} s"), *work),
            "Set PYTHONUNBUFFERED=1 and keep pipes that buffer out of the command.",
        )


def tell_missing(missing: Missing, verdict: Verdict) -> Finding:
    """The ranks that the others wait for."""
    is_plain = verdict is Verdict.LOADING
    return Finding(
        "ranks-missing",
        Severity.NOTE if is_plain else Severity.SEVERE,
        str(missing),
        missing.evidence,
        None
        if is_plain
        else "Look at the last lines and the stack (firedup stacks) of what is missing, and at its"
        " GPU and node: the fault is there, and the others only wait.",
    )


def tell_last_progress(
    silence: Silence, stage: Stage | None, bar: Progress | None, verdict: Verdict
) -> Finding:
    """How far a start came that a log alone tells of, and how long nothing followed."""
    place = str(stage) if stage else "its beginning"
    if bar is not None:
        place += f", {bar.done} of {bar.total} {bar.unit}".rstrip()
    least = _say_minutes(silence.patience_s)
    may = f"in this stage {least} without a word are no hang yet"
    if silence.is_too_long:
        may = f"{least} are more than this stage may need"
    if silence.seconds is None:
        since = "no later time stamp shows how long ago that is"
    else:
        since = f"after it the time stamps go on for {_say_minutes(silence.seconds)}"
    is_stalled = verdict is Verdict.STALLED
    return Finding(
        "last-progress",
        Severity.SEVERE if is_stalled else Severity.NOTE,
        f"The last progress was in {place}; {since}, and {may}.",
        silence.evidence,
        "Take the stacks of the ranks (firedup stacks compares them)."
        if is_stalled
        else "Whether it still works, its processes tell: firedup watch LOG on its host.",
    )


def _say_minutes(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"
