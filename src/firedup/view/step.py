"""Which stages began and ended from one snapshot to the next, those passed in between included."""

from __future__ import annotations

from dataclasses import dataclass

from firedup.core.model import Snapshot, Stage
from firedup.view.passage import Passage, gather_passages

_LOADS = (Stage.LOAD_WEIGHTS, Stage.DRAFT_LOAD)
_UP = (Stage.READY, Stage.SERVING)


@dataclass(frozen=True, slots=True)
class Step:
    """A stage began, or (`is_end`) ended after `seconds`, None when that is not known.

    `began_ns` is wall time of `clock`, "host" or "log". For a stage that came back both are about
    this time alone.
    """

    stage: Stage
    is_end: bool
    seconds: float | None = None
    began_ns: int | None = None
    clock: str = "host"


class Steps:
    """Tells each beginning and each end once, in order; a stage that comes back begins again."""

    def __init__(self) -> None:
        self._starts = 0
        self._is_open: dict[Stage, bool] = {}
        self._spent_s: dict[Stage, float] = {}  # of the times before, for a stage that comes back

    def feed(self, snapshot: Snapshot) -> tuple[Step, ...]:
        """The steps that `snapshot` adds to those told before."""
        explanation = snapshot.explanation
        if explanation.starts > max(1, self._starts):  # another start: its stages are new ones
            self._is_open.clear()
            self._spent_s.clear()
        self._starts = explanation.starts
        passages = list(gather_passages(explanation.stages))
        now = explanation.stage
        if now is not None and all(passage.stage is not now for passage in passages):
            passages.append(Passage(now, None, "host", None, is_over=False))
        # What ends comes before what began in its stead, and what goes on comes last: a stage that
        # has come back keeps its place in the list.
        steps: list[Step] = []
        for passage in sorted(passages, key=lambda item: item.stage is now):
            steps += self._of(passage, snapshot)
        return tuple(steps)

    def _of(self, passage: Passage, snapshot: Snapshot) -> list[Step]:
        stage = passage.stage
        is_over = passage.is_over and _is_left(stage, snapshot)
        was_open = self._is_open.get(stage)  # None: never seen
        self._is_open[stage] = not is_over
        steps: list[Step] = []
        if was_open is None:
            steps.append(Step(stage, is_end=False, began_ns=passage.began_ns, clock=passage.clock))
        elif not was_open and not is_over:
            steps.append(Step(stage, is_end=False, began_ns=_came_back_ns(stage, snapshot)))
        if is_over and was_open is not False and stage is not Stage.READY:  # that is a moment
            seconds = passage.seconds
            if seconds is not None:
                spent_s, self._spent_s[stage] = self._spent_s.get(stage, 0.0), seconds
                seconds = max(0.0, seconds - spent_s)
            steps.append(Step(stage, is_end=True, seconds=seconds, clock=passage.clock))
        return steps


def _came_back_ns(stage: Stage, snapshot: Snapshot) -> int | None:
    """When a stage that was passed before began anew: its span knows the first time only."""
    elapsed_s, wall_ns = snapshot.stage_elapsed_s, snapshot.wall_ns
    if stage is not snapshot.explanation.stage or elapsed_s is None or wall_ns is None:
        return None
    return wall_ns - int(elapsed_s * 1_000_000_000)


def _is_left(stage: Stage, snapshot: Snapshot) -> bool:
    """Whether the server is done with it: the first rank's end is not yet that of all.

    Of the loads every rank tells its end, however far the others are; of the rest not every one.
    """
    now = snapshot.explanation.stage
    if now in _UP or (stage is not now and stage not in _LOADS):
        return True
    return all(rank.has_finished for rank in snapshot.ranks if rank.stage is stage)
