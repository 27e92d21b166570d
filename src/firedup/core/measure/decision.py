"""From a measured speed-up to advice: use, do not use, fine-tune, fix the system, undecided."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise

from firedup.core.measure.measured import Estimate, Load
from firedup.core.measure.rival import Claim, Evidence, list_rivals
from firedup.core.measure.sequential import Rules, Side, find_side
from firedup.core.measure.speedup import Speedup

# What a step with k draft tokens costs at most where nothing is wrong with it, in plain steps;
# the dearest fits to published measurements of SGLang, mixture-of-experts targets at batch 8.
_PLAIN_PART, _PART_PER_TOKEN = 1.6, 0.15
_LOW_SHARE = 0.5  # of the drafted tokens accepted: below it a drafter of the same size does better
_NOTHING = 0.1  # accepted tokens a step that are too few for any number of drafted ones


class Advice(Enum):
    """What to do with a drafter."""

    USE = "use"
    DO_NOT_USE = "do not use"
    FINE_TUNE = "fine-tune"
    FIX_SYSTEM = "fix the system"
    UNDECIDED = "undecided"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Case:
    """What was measured under one load, candidate against baseline.

    `speed_up` has an interval that is valid whenever the measurement stopped. `baseline` is in
    tokens a second of one stream. `acceptance_length` is None where the server cannot say.
    `draft_tokens` is how many a step proposes one after the other, None when not known.
    `drift_share` is how much of the interval's variance more prompts cannot take away.
    """

    load: Load
    speed_up: Estimate
    baseline: float
    acceptance_length: Estimate | None = None
    draft_tokens: int | None = None
    drift_share: float | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """The advice for one load. `also` is a second lever where both are worth pulling.

    `figures` is the arithmetic behind it, None without an acceptance length. `is_step_dear` and
    `is_acceptance_low` are None where it cannot be told. `pays_at` is the highest smaller load
    that pays, where this one does not. `rivals` are other causes of a low acceptance.
    """

    case: Case
    side: Side
    advice: Advice
    also: Advice | None = None
    figures: Speedup | None = None
    is_step_dear: bool | None = None
    is_acceptance_low: bool | None = None
    pays_at: Load | None = None
    rivals: tuple[Claim, ...] = ()

    @property
    def perfect_speed_up(self) -> float | None:
        """The speed-up at this step cost if every drafted token were accepted."""
        perfect = self.figures.perfect if self.figures else None
        return perfect / self.case.baseline if perfect is not None else None


@dataclass(frozen=True, slots=True)
class Crossing:
    """Between which two measured concurrencies a drafter stops paying.

    `about` is where the line between the two measured speed-ups meets 1.
    """

    pays_at: int
    loses_at: int
    about: float


def decide(
    cases: Iterable[Case], *, evidence: Evidence | None = None, rules: Rules | None = None
) -> tuple[Decision, ...]:
    """The advice for each load, in the order of the loads.

    A drafter is used where it is certainly faster. Where it certainly brings no gain, and a
    smaller load pays, it is only this load that it does not fit. Where it pays nowhere, either the
    step is too dear or too little is accepted, or both, and the advice says which. Acceptance is
    what the server counted while it was measured; a validation accuracy is none.
    """
    rules = rules or Rules()
    found: list[Decision] = []
    paid: Load | None = None
    for case in sorted(cases, key=lambda one: _size(one.load)):
        one = _decide(case, paid, evidence, rules)
        if one.advice is Advice.USE:
            paid = case.load
        found.append(one)
    return tuple(found)


def find_crossing(decisions: Sequence[Decision]) -> Crossing | None:
    """Where more concurrency turns a gain into a loss, between two neighbours; None if nowhere.

    Both sides must be certain: a gain at the lower one and none at the higher one.
    """
    closed = sorted(
        (one for one in decisions if one.case.load.rate is None),
        key=lambda one: one.case.load.concurrency,
    )
    certain = [one for one in closed if one.side is not Side.OPEN]
    for before, after in pairwise(certain):
        if before.side is Side.FASTER and after.side is not Side.FASTER:
            low, high = before.case.load.concurrency, after.case.load.concurrency
            gain, loss = before.case.speed_up.value, after.case.speed_up.value
            part = min(1.0, (gain - 1) / (gain - loss)) if gain > loss else 1.0
            return Crossing(low, high, low + part * (high - low))
    return None


def sum_up(decisions: Sequence[Decision]) -> Advice:
    """One word for all loads: use, if anywhere; else what holds at the smallest load."""
    if any(one.advice is Advice.USE for one in decisions):
        return Advice.USE
    return decisions[0].advice if decisions else Advice.UNDECIDED


def imply_lengths(accuracy: float, draft_tokens: int) -> tuple[float, float]:
    """What a validation accuracy would mean if it were acceptance, which it is not.

    The acceptance length if it held at the first position alone, and if it held at each.
    """
    return 1 + accuracy, 1 + sum(accuracy**n for n in range(1, draft_tokens + 1))


def dear_step_ratio(draft_tokens: int) -> float:
    """The step ratio above which something other than the drafting itself must cost time."""
    return _PLAIN_PART + _PART_PER_TOKEN * draft_tokens


def _decide(case: Case, paid: Load | None, evidence: Evidence | None, rules: Rules) -> Decision:
    side = find_side(case.speed_up, rules)
    figures = _figures(case)
    if side is Side.OPEN:
        return Decision(case, side, Advice.UNDECIDED, figures=figures)
    if side is Side.FASTER:
        return Decision(case, side, Advice.USE, figures=figures)
    is_low, is_dear = _is_low(case), _is_dear(case, figures)
    if paid is not None:
        advice: tuple[Advice, ...] = (Advice.DO_NOT_USE,)
    elif figures and figures.perfect is not None and figures.perfect <= rules.high * case.baseline:
        advice = (Advice.FIX_SYSTEM,)
    else:
        levers = ((is_low, Advice.FINE_TUNE), (is_dear, Advice.FIX_SYSTEM))
        advice = tuple(lever for holds, lever in levers if holds) or (Advice.DO_NOT_USE,)
    rivals: tuple[Claim, ...] = ()
    if is_low and case.acceptance_length is not None:
        rivals = list_rivals(case.acceptance_length.value, evidence)
    also = advice[1] if len(advice) > 1 else None
    return Decision(case, side, advice[0], also, figures, is_dear, is_low, paid, rivals)


def _figures(case: Case) -> Speedup | None:
    if case.acceptance_length is None:
        return None
    speed = case.speed_up.value * case.baseline
    return Speedup(case.baseline, speed, case.acceptance_length.value, case.draft_tokens)


def _is_low(case: Case) -> bool | None:
    """Whether acceptance is low against what the number of draft tokens allows."""
    if case.acceptance_length is None:
        return None
    accepted = case.acceptance_length.value - 1
    if case.draft_tokens is None:
        return True if accepted < _NOTHING else None
    return accepted < _LOW_SHARE * case.draft_tokens


def _is_dear(case: Case, figures: Speedup | None) -> bool | None:
    if figures is None or case.draft_tokens is None:
        return None
    return figures.step_ratio > dear_step_ratio(case.draft_tokens)


def _size(load: Load) -> tuple[bool, float]:
    return load.rate is not None, load.rate if load.rate is not None else load.concurrency
