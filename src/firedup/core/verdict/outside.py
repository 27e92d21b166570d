"""What is known about a run from outside its log and its health answers."""

from __future__ import annotations

from dataclasses import dataclass

from firedup.core.event import (
    Accepted,
    Begun,
    DeadlinePassed,
    Ended,
    Event,
    Exited,
    StacksTaken,
    StopAsked,
)
from firedup.core.stack import Stacks
from firedup.core.word import Verdict

# What was seen of one that stood still says nothing of one that moves again.
_MOVING = (Verdict.READY, Verdict.LOADING)


@dataclass(slots=True)
class Outside:
    """Keeps the newest event of each kind; `feed` ignores what it does not know."""

    begun: Begun | None = None
    exited: Exited | None = None
    stop: StopAsked | None = None
    accepted: Accepted | None = None
    deadline: DeadlinePassed | None = None
    ended: Ended | None = None
    stacks: Stacks | None = None
    last_ns: int = 0  # host boottime of the newest event

    def feed(self, event: Event) -> None:
        """Take one event of any kind."""
        self.last_ns = max(self.last_ns, event.at_ns)
        match event:
            case Begun():
                self.begun = event
            case Exited():
                self.exited = event
            case StopAsked():
                self.stop = self.stop or event
            case Accepted():
                self.accepted = event
            case StacksTaken():
                self.stacks = event.stacks
            case DeadlinePassed():
                self.deadline = event
            case Ended():
                self.ended = event
            case _:
                pass

    def stacks_for(self, verdict: Verdict) -> Stacks | None:
        """The stacks that were taken last, where they tell anything about a server so judged."""
        return None if verdict in _MOVING else self.stacks

    @property
    def is_abandoned(self) -> bool:
        """Whether it is certain that no process writes the log any more."""
        return self.ended is not None and self.ended.is_abandoned

    @property
    def is_lost(self) -> bool:
        """Whether the contact to the host was given up."""
        return self.ended is not None and self.ended.is_lost
