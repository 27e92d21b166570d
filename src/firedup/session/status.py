"""The documented exit status of a watch, and of a verdict by itself."""

from __future__ import annotations

from firedup.core.model import Snapshot, Speculation, Verdict

NO_CONCLUSION = 6
_STATUS = {
    Verdict.READY: 0,
    Verdict.CRASHED: 1,
    Verdict.LOST: 3,
    Verdict.STALLED: 4,
    Verdict.TIMED_OUT: 5,
}


def status_of(verdict: Verdict) -> int:
    """0 ready, 1 crashed, 3 lost, 4 stalled, 5 timed out, 6 anything else: a stop too."""
    return _STATUS.get(verdict, NO_CONCLUSION)


def exit_status(snapshot: Snapshot, *, requires: frozenset[str] = frozenset()) -> int:
    """The exit status of a watch that ended with `snapshot`.

    `requires` may hold "speculation": ready without it counts as a failed check (1).
    """
    status = status_of(snapshot.explanation.verdict)
    if status == 0 and "speculation" in requires and snapshot.speculation is not Speculation.ON:
        return 1
    return status
