"""Two arms, load by load: a look after each round, and the decision at the end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from firedup.core.measure.accepted import acceptance_length_of, evidence_of
from firedup.core.measure.comparable import Obstacle, find_obstacles
from firedup.core.measure.decision import Case, Crossing, Decision, decide, find_crossing
from firedup.core.measure.measured import Arm, Cell, Load
from firedup.core.measure.pairing import (
    FEWEST_PAIRS,
    Design,
    Difference,
    compare_arms,
    pair_prompts,
)
from firedup.core.measure.rival import Evidence
from firedup.core.measure.sequential import FIRST_LOOK, Look, Outlook, Rules, take_look
from firedup.core.measure.simulated import is_made_up


@dataclass(frozen=True, slots=True)
class Unmeasured:
    """A load that nothing can be said of yet, and `why` not."""

    load: Load
    why: str


@dataclass(frozen=True, slots=True)
class Judged:
    """What follows from two arms: decisions, and loads of which nothing can be said.

    `looks` are at each load that was compared. On the way there are no `decisions` yet.
    """

    decisions: tuple[Decision, ...]
    looks: Mapping[Load, Look]
    crossing: Crossing | None = None
    obstacles: tuple[Obstacle, ...] = ()
    unmeasured: tuple[Unmeasured, ...] = ()

    @property
    def decided(self) -> frozenset[Load]:
        """Loads that gain nothing from more requests."""
        looks = self.looks.items()
        return frozenset(load for load, look in looks if look.outlook is not Outlook.GO_ON)

    @property
    def is_over(self) -> bool:
        """Whether no load gains from more requests, so that the probe may stop."""
        return not self.unmeasured and len(self.decided) == len(self.looks)


def judge_arms(
    baseline: Arm,
    candidate: Arm,
    design: Design,
    *,
    share: float | Mapping[Load, float],
    before: Judged | None = None,
    evidence: Evidence | None = None,
    rules: Rules | None = None,
) -> Judged:
    """What is certain of the candidate after a round of a probe, or at its end.

    `share` is how much of the probe's budget is used, 1 at the end; it may be said for each load,
    since one may be asked in fewer parts than another. `before` is what was judged
    after the round before: each look costs a part of the allowed error, so it must be handed on.
    A load that was certain once is not looked at again. Decisions follow when the probe is over.
    `evidence` on what else may make acceptance low is that of the measurement, unless there is
    more.
    """
    looks: dict[Load, Look] = {}
    unmeasured: list[Unmeasured] = []
    shares = {
        cell.load: share if isinstance(share, int | float) else share[cell.load]
        for cell in candidate.cells
    }
    for cell in candidate.cells:
        part = shares[cell.load]
        past = before.looks.get(cell.load) if before else None
        if past is None or past.outlook is Outlook.GO_ON:
            found = _compare(baseline.at(cell.load), cell, design)
            if isinstance(found, Difference) and not _is_too_soon(found.prompts, past, part):
                past = take_look(found, past, share=part, rules=rules)
            elif past is None:
                why = found if isinstance(found, str) else "it is too soon to look"
                unmeasured.append(Unmeasured(cell.load, why))
        if past is not None:
            looks[cell.load] = past
    found_so_far = Judged((), looks, unmeasured=tuple(unmeasured))
    if min(shares.values(), default=1) < 1 and not found_so_far.is_over:
        return found_so_far
    tokens = candidate.conditions.draft_tokens
    cases = [
        _case(other, cell, looks[cell.load], tokens)
        for cell in candidate.cells
        if cell.load in looks and (other := baseline.at(cell.load)) is not None
    ]
    decisions = decide(cases, evidence=evidence or evidence_of(candidate), rules=rules)
    obstacles = find_obstacles(baseline.conditions, candidate.conditions)
    crossing = find_crossing(decisions)
    return replace(found_so_far, decisions=decisions, crossing=crossing, obstacles=obstacles)


def _compare(baseline: Cell | None, candidate: Cell, design: Design) -> Difference | str:
    """The two under one load; in words why they cannot be compared."""
    if is_made_up(candidate.acceptance):
        # A speed that comes from made-up acceptance is nobody's.
        return "acceptance is made up by the server, and with it the speed"
    if baseline is None:
        return "the baseline was not measured under it"
    for name, cell in (("baseline", baseline), ("candidate", candidate)):
        if cell.is_held_back:
            return f"most answers of the {name} came all at once, so that it has no pace"
    found = compare_arms(baseline, candidate, design)
    if found is not None:
        return found
    pairs = len(pair_prompts(baseline, candidate))
    if not pairs:
        return "no prompt was answered by both"
    answered = "1 prompt was" if pairs == 1 else f"{pairs} prompts were"
    return f"only {answered} answered by both, and it takes {FEWEST_PAIRS}"


def _is_too_soon(pairs: int, past: Look | None, share: float) -> bool:
    """Whether a look now would cost more than it is likely to tell."""
    return share < 1 and pairs < (past.next_pairs if past else FIRST_LOOK)


def _case(baseline: Cell, candidate: Cell, look: Look, draft_tokens: int | None) -> Case:
    pairs = pair_prompts(baseline, candidate)
    seconds = sum(pair.baseline_s for pair in pairs)
    tokens = sum(pair.baseline_tokens for pair in pairs)
    return Case(
        candidate.load,
        look.estimate,
        tokens / seconds,
        acceptance_length_of(candidate),
        draft_tokens,
        look.difference.drift_share,
    )
