"""What a step costs by how many tokens it drafts, and which number of them is the best."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from firedup.core.measure.accepted import any_counts_of, positions_of_cell
from firedup.core.measure.comparable import Weight, find_obstacles
from firedup.core.measure.measured import Arm, Cell, Load
from firedup.core.measure.pairing import decoding_of

# Conditions that do not change what a step costs, whatever they do to acceptance.
_NO_MATTER = frozenset({"prompts", "ignores eos"})
_MADE_UP = "SIMULATE_ACC"


@dataclass(frozen=True, slots=True)
class Point:
    """One measurement: a step that drafts `draft_tokens` took `step_s`, over `requests` answers."""

    draft_tokens: int
    step_s: float
    requests: int


@dataclass(frozen=True, slots=True)
class StepCost:
    """Time of a step = `base_s` + `per_token_s` × draft tokens, under one load.

    `worst` is by which share the line misses a point at most; None with two points, which any line
    meets. `reached` is acceptance by position, of the deepest drafter that was really measured;
    empty when none was.
    """

    load: Load
    points: tuple[Point, ...]
    base_s: float
    per_token_s: float
    worst: float | None
    reached: tuple[float, ...] = ()

    def step_s(self, draft_tokens: int) -> float:
        """Time of a step that drafts so many."""
        return self.base_s + self.per_token_s * draft_tokens

    def tokens_per_s(self, draft_tokens: int) -> float:
        """Speed of one stream with so many, by the acceptance of as many positions."""
        return (1 + sum(self.reached[:draft_tokens])) / self.step_s(draft_tokens)

    @property
    def best(self) -> int | None:
        """The number of draft tokens with the highest speed; None without acceptance by position.

        Positions that nobody measured are not guessed, so that the best may lie beyond the last.
        """
        numbers = range(1, len(self.reached) + 1)
        return max(numbers, key=self.tokens_per_s, default=None)


def fit_step_cost(arms: Sequence[Arm], load: Load) -> StepCost | None:
    """The line through what `arms` measured under `load`; None with fewer than two numbers of k.

    Made-up acceptance is good for the time of a step: as many tokens are drafted and verified as
    ever. Each measurement weighs as many answers as it has.
    """
    points: list[Point] = []
    reached: tuple[float, ...] = ()
    for arm in arms:
        cell, drafted = arm.at(load), arm.conditions.draft_tokens
        if cell is None or not drafted:
            continue
        step_s = step_time_of(cell)
        if step_s is not None:
            points.append(Point(drafted, step_s, len(cell.kept)))
        found = positions_of_cell(cell, drafted)
        if found is not None and len(found.reached) > len(reached):
            reached = found.reached
    if len({point.draft_tokens for point in points}) < 2:
        return None
    base_s, per_token_s = _fit(points)
    misses = [abs(base_s + per_token_s * p.draft_tokens - p.step_s) / p.step_s for p in points]
    ordered = tuple(sorted(points, key=lambda point: point.draft_tokens))
    worst = max(misses) if len(points) > 2 else None
    return StepCost(load, ordered, base_s, per_token_s, worst, reached)


def step_time_of(cell: Cell) -> float | None:
    """Seconds of a verify step of one stream: time per token × tokens a step, made up or not."""
    counts = any_counts_of(cell)
    kept = () if cell.is_held_back else cell.kept
    decoded = [part for one in kept if (part := decoding_of(one)) is not None]
    seconds, tokens = sum(s for s, _ in decoded), sum(n for _, n in decoded)
    if counts is None or counts.steps <= 0 or not tokens:
        return None
    return seconds / tokens * (1 + counts.accepted / counts.steps)


def choose_alike(arm: Arm, others: Iterable[Arm]) -> tuple[Arm, ...]:
    """Those of `others` whose steps may be put on one line with those of `arm`."""
    return tuple(other for other in others if _are_alike(arm, other))


def _are_alike(arm: Arm, other: Arm) -> bool:
    return not any(
        one.weight is Weight.FORBIDS and one.name not in _NO_MATTER and _MADE_UP not in one.name
        for one in find_obstacles(other.conditions, arm.conditions)
    )


def _fit(points: Sequence[Point]) -> tuple[float, float]:
    """Least squares, each point as heavy as it has answers."""
    weight = sum(p.requests for p in points)
    mean_k = sum(p.requests * p.draft_tokens for p in points) / weight
    mean_s = sum(p.requests * p.step_s for p in points) / weight
    spread = sum(p.requests * (p.draft_tokens - mean_k) ** 2 for p in points)
    along = sum(p.requests * (p.draft_tokens - mean_k) * (p.step_s - mean_s) for p in points)
    return mean_s - along / spread * mean_k, along / spread
