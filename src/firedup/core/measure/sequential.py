"""Looks at a speed-up while it is being measured, each paid for: go on, certain, budget spent."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from math import exp, inf, isfinite, log, sqrt

from firedup.core.measure.measured import Estimate
from firedup.core.measure.pairing import Difference
from firedup.core.measure.student import student_quantile

FIRST_LOOK = 6  # pairs of prompts
_GROWTH = 1.6  # from one look to the next
_LATE = 1.5  # how much of the allowed error is kept for late looks: information to this power
_LEAST_SPENT = 1e-5  # of the allowed error, for a look to be worth it
_FAR = 2.0  # standard deviations that the estimate may still move, generously


class Outlook(Enum):
    """What follows from a look."""

    GO_ON = "go on"
    CERTAIN = "certain"
    HOPELESS = "more prompts do not help"
    SPENT = "budget spent"

    def __str__(self) -> str:
        return self.value


class Side(Enum):
    """What is certain of a speed-up. NO_GAIN: not worth having, be it a loss or not."""

    FASTER = "faster"
    NO_GAIN = "no gain"
    SLOWER = "slower"
    OPEN = "open"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Rules:
    """`error` is the probability, over all looks together, that what is said is wrong.

    Between `low` and `high` a speed-up is as good as none.
    """

    error: float = 0.05
    low: float = 0.97
    high: float = 1.03


@dataclass(frozen=True, slots=True)
class Look:
    """What is known after a round. `estimate` is the speed-up, its interval valid at any look.

    `spent` is the error allowed to this look and those before it. `next_pairs`: with how many
    pairs the next look is worth its price.
    """

    outlook: Outlook
    side: Side
    estimate: Estimate
    spent: float
    next_pairs: int
    difference: Difference


def take_look(
    difference: Difference, before: Look | None, *, share: float, rules: Rules | None = None
) -> Look:
    """Look at what was measured so far; `before` is the look before, None at the first.

    `share` is how much of the budget is used, above 0 and up to 1, where the last look is taken.
    Each look may err with a probability of its own, the larger the more information it adds to
    the look before; together these are `rules.error`, whatever is seen at any of them. So one
    may stop at each, and the interval stays honest. Information is 1 ÷ variance, and what drift
    leaves unsure no further prompt adds to. Where the whole budget could hardly make it certain,
    it is not spent.
    """
    rules = rules or Rules()
    is_last = share >= 1
    spent = before.spent if before else 0.0
    due = rules.error * (1.0 if is_last else _information(difference, share) ** _LATE)
    allowed = max(0.0, due - spent)
    if allowed < _LEAST_SPENT * rules.error and not is_last:
        allowed = 0.0
    estimate = _interval(difference, allowed, rules)
    side = find_side(estimate, rules)
    if side is not Side.OPEN:
        outlook = Outlook.CERTAIN
    elif is_last:
        outlook = Outlook.SPENT
    elif _is_hopeless(difference, share, rules.error - spent - allowed, rules):
        # Nothing will be looked at again, so that what is left of the error narrows the interval.
        outlook, allowed = Outlook.HOPELESS, rules.error - spent
        estimate = _interval(difference, allowed, rules)
        side = find_side(estimate, rules)
        if side is not Side.OPEN:
            outlook = Outlook.CERTAIN
    else:
        outlook = Outlook.GO_ON
    pairs = max(difference.prompts + 1, round(difference.prompts * _GROWTH))
    return Look(outlook, side, estimate, spent + allowed, pairs, difference)


def find_side(estimate: Estimate, rules: Rules | None = None) -> Side:
    """What an interval makes certain."""
    rules = rules or Rules()
    if estimate.low is not None and estimate.low > rules.high:
        return Side.FASTER
    if estimate.high is not None and estimate.high < rules.low:
        return Side.SLOWER
    if estimate.high is not None and estimate.high < rules.high:
        return Side.NO_GAIN
    return Side.OPEN


def _information(difference: Difference, share: float) -> float:
    """The share of the information at hand of what there will be when the budget is used up."""
    if not 0 < difference.whole < inf:
        return 0.0
    return (difference.variance * share + difference.drift) / difference.whole


def _is_hopeless(difference: Difference, share: float, error: float, rules: Rules) -> bool:
    """Whether the interval at the end of the budget would not be certain, as far as can be seen."""
    if not difference.whole < inf:
        return False
    final = difference.variance * share + difference.drift
    reach = student_quantile(error, difference.whole_degrees) * sqrt(final)
    moves = _FAR * sqrt(difference.variance * (1 - share))
    edge = log(rules.high)
    return difference.log_ratio + moves - reach < edge < difference.log_ratio - moves + reach


def _interval(difference: Difference, error: float, rules: Rules) -> Estimate:
    value = exp(difference.log_ratio)
    reach = student_quantile(error, difference.whole_degrees) * sqrt(difference.whole)
    if not isfinite(reach):
        return Estimate(value, confidence=1 - rules.error, count=difference.prompts)
    return Estimate(
        value,
        exp(difference.log_ratio - reach),
        exp(difference.log_ratio + reach),
        1 - rules.error,
        difference.prompts,
    )
