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

    `began_ns` is wall time of `clock`, "host" or "log".
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

    def feed(self, snapshot: Snapshot) -> tuple[Step, ...]:
        """The steps that `snapshot` adds to those told before."""
        explanation = snapshot.explanation
        if explanation.starts > max(1, self._starts):  # another start: its stages are new ones
            self._is_open.clear()
        self._starts = explanation.starts
        passages = list(gather_passages(explanation.stages))
        now = explanation.stage
        if now is not None and all(passage.stage is not now for passage in passages):
            passages.append(Passage(now, None, "host", None, is_over=False))
        # What ends comes before what began in its stead, and what goes on comes last: a stage that
        # has come back keeps its place in the list.
        steps: list[Step] = []
        for passage in sorted(passages, key=lambda item: item.stage is now):
            is_over = passage.is_over and _is_left(passage.stage, snapshot)
            if not self._is_open.get(passage.stage, False):
                if is_over and passage.stage in self._is_open:
                    continue
                steps.append(_step(passage, is_end=False))
            if is_over:
                steps.append(_step(passage, is_end=True))
            self._is_open[passage.stage] = not is_over
        return tuple(steps)


def _step(passage: Passage, *, is_end: bool) -> Step:
    seconds = passage.seconds if is_end else None
    return Step(passage.stage, is_end, seconds, passage.began_ns, passage.clock)


def _is_left(stage: Stage, snapshot: Snapshot) -> bool:
    """Whether the server is done with it: the first rank's end is not yet that of all.

    Of the loads every rank tells its end, however far the others are; of the rest not every one.
    """
    now = snapshot.explanation.stage
    if now in _UP or (stage is not now and stage not in _LOADS):
        return True
    return all(rank.has_finished for rank in snapshot.ranks if rank.stage is stage)
