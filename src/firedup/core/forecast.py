"""How long a stage or a whole start still takes, and what that rests on; the times of a start."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from firedup.core.word import Stage

LEAST_STARTS = 5  # with fewer earlier starts there is no interval: what was seen is told instead


@dataclass(frozen=True, slots=True)
class StageTime:
    """One stage of a start that is over: when it began, in seconds since the launch, how long."""

    stage: Stage
    began_s: float
    seconds: float


@dataclass(frozen=True, slots=True)
class StartTimes:
    """How long a start took that came up, in all (`ready_s`) and stage by stage.

    `has_same_flags` says that it was launched with the flags of the start that is forecast.
    """

    ready_s: float
    stages: tuple[StageTime, ...] = ()
    has_same_flags: bool = True

    def find(self, stage: Stage) -> StageTime | None:
        """The time of `stage`, None when this start did not pass it."""
        return next((time for time in self.stages if time.stage is stage), None)


@dataclass(frozen=True, slots=True)
class Forecast:
    """How long something still takes, in seconds from now.

    `low_s` to `high_s` hold 80 % of such starts, None without an honest interval. `basis` is what
    it rests on: "history", "bar", "bytes", or two of them with a plus. `starts` is how many earlier
    starts were looked at, `seen_s` the least and the most that they took, from its beginning to its
    end. `is_overdue`: it has taken longer than all of them.
    """

    expected_s: float | None = None
    low_s: float | None = None
    high_s: float | None = None
    basis: str = ""
    starts: int = 0
    seen_s: tuple[float, float] | None = None
    is_overdue: bool = False

    @property
    def has_content(self) -> bool:
        """Whether it says anything."""
        return self.expected_s is not None or self.seen_s is not None


@dataclass(frozen=True, slots=True)
class Eta:
    """When the present stage is over and when the server is ready; None: nothing to be said."""

    stage: Forecast | None = None
    ready: Forecast | None = None


def choose_starts(starts: Sequence[StartTimes]) -> tuple[StartTimes, ...]:
    """Those with the same flags where they are enough, else all."""
    same = tuple(start for start in starts if start.has_same_flags)
    return same if len(same) >= LEAST_STARTS else tuple(starts)
