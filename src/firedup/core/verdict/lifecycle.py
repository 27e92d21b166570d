"""The server's state as a transition table, and the verdict that the facts add up to."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from firedup.core.model import Ownership, State, Verdict
from firedup.core.verdict.suspect import Fatality


class Trigger(StrEnum):
    """What can move a server from one state to another."""

    SEEN = "seen"  # its process or its log showed itself
    READY = "ready"
    STOP_ASKED = "stop-asked"
    EXITED = "exited"
    KEEPER_GONE = "keeper-gone"
    LINK_DOWN = "link-down"
    LINK_UP = "link-up"


# A missing key is a trigger that changes nothing in that state. LINK_UP is not in the table: it
# returns to the state before LINK_DOWN.
TABLE: dict[State, dict[Trigger, State]] = {
    State.WAITING: {
        Trigger.SEEN: State.STARTING,
        Trigger.READY: State.SERVING,
        Trigger.EXITED: State.EXITED,
        Trigger.STOP_ASKED: State.STOPPING,
        Trigger.LINK_DOWN: State.UNREACHED,
    },
    State.STARTING: {
        Trigger.READY: State.SERVING,
        Trigger.STOP_ASKED: State.STOPPING,
        Trigger.EXITED: State.EXITED,
        Trigger.KEEPER_GONE: State.UNKEPT,
        Trigger.LINK_DOWN: State.UNREACHED,
    },
    State.SERVING: {
        Trigger.STOP_ASKED: State.STOPPING,
        Trigger.EXITED: State.EXITED,
        Trigger.KEEPER_GONE: State.UNKEPT,
        Trigger.LINK_DOWN: State.UNREACHED,
    },
    State.STOPPING: {
        Trigger.EXITED: State.EXITED,
        Trigger.LINK_DOWN: State.UNREACHED,
    },
    State.UNKEPT: {
        Trigger.STOP_ASKED: State.STOPPING,
        Trigger.EXITED: State.EXITED,
        Trigger.LINK_DOWN: State.UNREACHED,
    },
    State.EXITED: {},
    State.UNREACHED: {Trigger.EXITED: State.EXITED},
}


class Lifecycle:
    """Holds the state; `feed` applies one trigger."""

    def __init__(self) -> None:
        self.state = State.WAITING
        self._before_link_down = State.WAITING

    def feed(self, trigger: Trigger) -> State:
        """Apply `trigger` and return the new state; an unknown one changes nothing."""
        if trigger is Trigger.LINK_UP:
            if self.state is State.UNREACHED:
                self.state = self._before_link_down
            return self.state
        after = TABLE[self.state].get(trigger, self.state)
        if after is State.UNREACHED and self.state is not State.UNREACHED:
            self._before_link_down = self.state
        self.state = after
        return after


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything that decides a verdict, and nothing else.

    `code`/`signal`: how the process ended, None when it lives or nobody reaped it. `has_process`:
    there is (or was) a process that firedup watches; without one only the log speaks. `log_stop`:
    the log itself tells of an orderly end. `is_abandoned`: nobody writes the log any more.
    `is_stalled`: processes or answers show that nothing moves; `is_stuck`: a log alone does.
    `is_held`: a process is seen to be held up, which counts although it had proved itself.
    """

    fatality: Fatality = Fatality.NONE
    is_fatality_settled: bool = True  # nothing went on for a while after a likely failure
    log_ready: bool = False
    is_proven_ready: bool = False  # health, port owner and token agree (or cannot be asked)
    was_ready: bool = False
    owner: Ownership | None = None
    stop_asked: bool = False  # by firedup
    is_stall_stopped: bool = False  # by firedup itself, because it was stalled
    log_stop: bool = False
    is_abandoned: bool = False
    has_exited: bool = False
    code: int | None = None
    signal: int | None = None
    has_process: bool = False
    is_stalled: bool = False
    is_held: bool = False
    is_stuck: bool = False
    deadline_passed: bool = False
    is_lost: bool = False
    has_begun: bool = False  # any stage or process was seen


POLITE_SIGNALS = (1, 2, 15)  # HUP, INT, TERM: sent by somebody who wanted the end


def judge(facts: Facts) -> Verdict:
    """The verdict, strongest reason first."""
    if facts.fatality is Fatality.CERTAIN:
        return Verdict.CRASHED
    if facts.has_exited or facts.is_stall_stopped:
        return _judge_end(facts)
    if facts.fatality is Fatality.LIKELY and facts.is_fatality_settled:
        return Verdict.CRASHED
    if facts.is_lost:
        return Verdict.LOST
    if facts.stop_asked and not facts.has_process:
        return Verdict.STOPPED
    if facts.is_stuck or facts.is_held:
        return Verdict.STALLED  # also when its operator ended it: that is why
    if facts.log_stop and not facts.has_process:
        return Verdict.STOPPED
    if facts.is_abandoned:
        # Its last words were no end and no fault: how it went is not known, but it is gone.
        return Verdict.UNKNOWN
    if facts.is_proven_ready or (facts.log_ready and not facts.has_process):
        return Verdict.READY
    if facts.is_stalled:
        return Verdict.STALLED
    if facts.deadline_passed:
        return Verdict.TIMED_OUT
    return Verdict.LOADING if facts.has_begun else Verdict.UNKNOWN


def _judge_end(facts: Facts) -> Verdict:
    if facts.is_stall_stopped:
        return Verdict.STALLED
    if facts.stop_asked or facts.signal in POLITE_SIGNALS:
        return Verdict.STOPPED
    if facts.fatality is not Fatality.NONE or not facts.log_stop:
        return Verdict.CRASHED
    # Engines tidy up after a fault too: a bad status before it was up is no orderly end.
    return Verdict.CRASHED if facts.code and not facts.was_ready else Verdict.STOPPED
