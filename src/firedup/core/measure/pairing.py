"""Two arms that answered the same prompts → the speed-up, with everything that makes it unsure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from math import inf, log
from statistics import variance

from firedup.core.measure.drift import Drift, blocks_of, visits_of, wandering_of
from firedup.core.measure.measured import Cell, Request
from firedup.core.measure.student import pooled_degrees

FEWEST_PAIRS = 4  # prompts, below which nothing is said
_QUARTET = 2  # blocks of an arm in one A B B A
_ENOUGH_QUARTETS = 6  # that show their scatter by themselves


class Design(Enum):
    """How two arms were measured: one after the other, or in turn while both were up."""

    SEQUENTIAL = "sequential"
    INTERLEAVED = "interleaved"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Pair:
    """One prompt as both arms answered it: seconds of decoding, and the tokens that took them."""

    prompt: str
    block: int
    baseline_s: float
    baseline_tokens: int
    candidate_s: float
    candidate_tokens: int


@dataclass(frozen=True, slots=True)
class Difference:
    """The logarithm of a speed-up, and the parts of its variance.

    `variance` shrinks with more prompts, `drift` (of both arms together) only with more visits.
    """

    log_ratio: float
    variance: float
    degrees: float
    drift: float
    drift_degrees: float
    prompts: int

    @property
    def whole(self) -> float:
        """Both parts of the variance."""
        return self.variance + self.drift

    @property
    def drift_share(self) -> float:
        """How much of the variance more prompts cannot take away."""
        return self.drift / self.whole if self.whole > 0 else 0.0

    @property
    def whole_degrees(self) -> float:
        """The degrees of freedom of the whole."""
        return pooled_degrees(((self.variance, self.degrees), (self.drift, self.drift_degrees)))


def pair_prompts(baseline: Cell, candidate: Cell) -> tuple[Pair, ...]:
    """What both arms answered, in the order in which the candidate was asked.

    The tokens of an answer's first moment came with the prefill and are not decoding's. The turns
    of a conversation are one pair, as far as both answered them. None at all where answers were
    held back on their way.
    """
    if baseline.is_held_back or candidate.is_held_back:
        return ()
    before = {(one.prompt, one.turn): part for one in baseline.kept if (part := decoding_of(one))}
    found: dict[str, Pair] = {}
    for one in candidate.kept:
        mine, other = decoding_of(one), before.get((one.prompt, one.turn))
        if mine is None or other is None:
            continue
        past = found.get(one.prompt, Pair(one.prompt, one.block, 0.0, 0, 0.0, 0))
        found[one.prompt] = Pair(
            past.prompt,
            past.block,
            past.baseline_s + other[0],
            past.baseline_tokens + other[1],
            past.candidate_s + mine[0],
            past.candidate_tokens + mine[1],
        )
    return tuple(found.values())


def compare_arms(
    baseline: Cell, candidate: Cell, design: Design, drift: Drift | None = None
) -> Difference | None:
    """The log speed-up of decoding, candidate against baseline; None with too few pairs.

    Speed is all tokens ÷ all seconds, so that speed-up = acceptance length ÷ step ratio holds for
    what is printed. Sequential arms differ by the drift between their visits too; a visit that
    wandered by more than `drift` says by how much at least. Interleaved ones are compared
    A B B A by A B B A, which a steady drift leaves alone and an unsteady one scatters; with fewer
    of these than can tell, each block is taken for a visit.
    """
    pairs = pair_prompts(baseline, candidate)
    if len(pairs) < FEWEST_PAIRS:
        return None
    totals = [
        sum(values)
        for values in zip(
            *((p.baseline_s, p.baseline_tokens, p.candidate_s, p.candidate_tokens) for p in pairs),
            strict=True,
        )
    ]
    log_ratio = log(totals[0] / totals[1] / (totals[2] / totals[3]))
    pulls = _pulls(pairs, totals)
    if design is Design.INTERLEAVED:
        groups: defaultdict[int, float] = defaultdict(float)
        for pair, pull in zip(pairs, pulls, strict=True):
            groups[pair.block // _QUARTET] += pull
        if len(groups) >= _ENOUGH_QUARTETS:
            return _difference(log_ratio, list(groups.values()), len(pairs))
    visited = drift or Drift()
    divide = blocks_of if design is Design.INTERLEAVED else visits_of
    between = sum(
        max(visited.variance, wandering_of(cell)) / len(divide(cell))
        for cell in (baseline, candidate)
    )
    return _difference(log_ratio, pulls, len(pairs), between, visited.degrees)


def decoding_of(request: Request) -> tuple[float, int] | None:
    """Seconds from the first moment to the last, and the tokens after those of the first.

    None where there is no time per token.
    """
    tpot_s, tokens = request.tpot_s, request.later_tokens
    return (tpot_s * tokens, tokens) if tpot_s and tokens else None


def _pulls(pairs: Sequence[Pair], totals: Sequence[float]) -> list[float]:
    """By how much each prompt pulls the log ratio; together 0. The delta method's terms."""
    before_s, before, after_s, after = totals
    return [
        pair.baseline_s / before_s
        - pair.baseline_tokens / before
        - pair.candidate_s / after_s
        + pair.candidate_tokens / after
        for pair in pairs
    ]


def _difference(
    log_ratio: float,
    pulls: Sequence[float],
    prompts: int,
    between: float = 0.0,
    degrees: float = inf,
) -> Difference:
    """The variance of a sum of independent pulls, and the drift beside it."""
    count = len(pulls)
    scatter = variance(pulls) * count if count > 1 else inf
    return Difference(log_ratio, scatter, count - 1, between, degrees, prompts)
