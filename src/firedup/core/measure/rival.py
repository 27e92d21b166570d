"""What else may make acceptance low, what would exclude it, and what is excluded already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

_HALF = 0.5  # accepted at the first position: a drafter that reads the wrong table is far below
_LEVEL = 0.9  # of one position's conditional acceptance, kept at the next: it does not decay
_FAR_APART = 2.0  # times as many drafts accepted in one category as in another
_NOTHING = 0.02  # accepted tokens a step: as good as none


class Rival(Enum):
    """A cause of low acceptance that is not the drafter's training."""

    ALGORITHM = "algorithm"
    VOCABULARY_MAP = "vocabulary map"
    LAYER_IDS = "layer ids"
    NORMS = "norms"
    OTHER_TARGET = "another target"
    OTHER_TEXT = "other text"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Claim:
    """A rival cause: what it says, what would exclude it, what did, and what speaks for it."""

    rival: Rival
    says: str
    test: str
    excluded_by: str | None = None
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known beside the acceptance length.

    `positions`: the share of steps in which the draft token at each position was accepted (the
    first is the highest). `categories`: accepted tokens a step by category of prompts.
    `excluded`: rivals that something else excludes, a static check for instance, and what did.
    """

    positions: Sequence[float] = ()
    categories: Mapping[str, float] = field(default_factory=dict)
    excluded: Mapping[Rival, str] = field(default_factory=dict)


_SAYS = {
    Rival.ALGORITHM: (
        "the engine's algorithm is not the drafter's (EAGLE for an EAGLE-3 drafter)",
        "the draft model's `architectures` beside the engine's speculative algorithm",
    ),
    Rival.VOCABULARY_MAP: (
        "the map from the drafter's vocabulary to the target's is wrong or missing",
        "the map in the drafter's weights (`d2t`): ids of the target's vocabulary, all different",
    ),
    Rival.LAYER_IDS: (
        "the drafter gets hidden states of other layers than it was trained on",
        "the layer ids in the drafter's config beside those of its training, as the engine counts",
    ),
    Rival.NORMS: (
        "the engine applies the drafter's norms otherwise than its training did",
        "the norm flags in the drafter's config, and whether this engine version reads them",
    ),
    Rival.OTHER_TARGET: (
        "the drafter was trained on another target model, version or quantization",
        "the target named in the drafter's config or training record",
    ),
    Rival.OTHER_TEXT: (
        "it was trained on other text than it is asked for (chat template, thinking, language)",
        "acceptance by category: all alike",
    ),
}


def list_rivals(acceptance_length: float, evidence: Evidence | None = None) -> tuple[Claim, ...]:
    """Every rival cause, those that stand first, and what excludes the others."""
    evidence = evidence or Evidence()
    excluded = {**_exclude(evidence), **evidence.excluded}
    hints = _hints(acceptance_length, evidence)
    claims = [
        Claim(rival, *says, excluded.get(rival), None if rival in excluded else hints.get(rival))
        for rival, says in _SAYS.items()
    ]
    return tuple(sorted(claims, key=lambda claim: (claim.excluded_by is not None, not claim.hint)))


def _exclude(evidence: Evidence) -> dict[Rival, str]:
    found: dict[Rival, str] = {}
    first = evidence.positions[0] if evidence.positions else 0.0
    if first >= _HALF:
        why = f"{100 * first:.0f} % of drafts are accepted at the first position"
        found[Rival.ALGORITHM] = found[Rival.VOCABULARY_MAP] = why
    kept = _kept(evidence.positions)
    if kept is not None and kept >= _LEVEL:
        found[Rival.NORMS] = (
            f"acceptance does not decay: a draft token after an accepted one is accepted"
            f" {kept:.2f} times as often as the first"
        )
    rates = sorted(evidence.categories.values())
    if len(rates) > 1 and rates[0] > _NOTHING and rates[-1] < _FAR_APART * rates[0]:
        found[Rival.OTHER_TEXT] = (
            f"all categories are alike: {rates[0]:.2f} to {rates[-1]:.2f} draft tokens a step"
        )
    return found


def _hints(acceptance_length: float, evidence: Evidence) -> dict[Rival, str]:
    found: dict[Rival, str] = {}
    if acceptance_length - 1 < _NOTHING:
        why = "as good as nothing is accepted"
        found[Rival.ALGORITHM] = found[Rival.VOCABULARY_MAP] = why
    kept = _kept(evidence.positions)
    if kept is not None and kept < _HALF and evidence.positions[0] >= _HALF:
        found[Rival.NORMS] = (
            f"acceptance decays: {kept:.2f} times as much at the second position as at the first"
        )
    rates = evidence.categories
    if len(rates) > 1:
        worst, best = min(rates, key=rates.__getitem__), max(rates, key=rates.__getitem__)
        if rates[best] >= _FAR_APART * max(rates[worst], _NOTHING):
            found[Rival.OTHER_TEXT] = (
                f"{rates[best]:.2f} draft tokens a step are accepted in {best},"
                f" {rates[worst]:.2f} in {worst}"
            )
    return found


def _kept(positions: Sequence[float]) -> float | None:
    """The second position's acceptance, given the first, against the first's."""
    if len(positions) < 2 or positions[0] <= 0:
        return None
    return positions[1] / positions[0] / positions[0]
