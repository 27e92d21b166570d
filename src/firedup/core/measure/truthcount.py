"""Whether a server's counters of speculation can be believed, and what they leave out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from firedup.core.measure.accepted import counted, counts_of
from firedup.core.measure.measured import Arm, Cell
from firedup.core.measure.simulated import is_made_up
from firedup.core.word import Severity

_ENOUGH_STEPS = 20  # after which exactly nothing, or everything, is no chance
_OTHERS = 0.01  # of the tokens may be miscounted; more are somebody else's
_IDLE = 0.1  # of the steps without a draft: less is the end of answers
_PERFECT = 0.999


@dataclass(frozen=True, slots=True)
class Doubt:
    """One thing that one arm under one load tells: what it means, and what was observed."""

    id: str
    severity: Severity
    says: str
    observed: str
    remedy: str | None = None


def check_counts(arm: Arm, cell: Cell, *, is_candidate: bool) -> Iterator[Doubt]:
    """What the counters of one arm under one load say against its figures."""
    yield from _check_others(cell)
    why_not = cell.acceptance.why_not if cell.acceptance else None
    if why_not is not None:
        yield from _explain(why_not, cell, has_drafter=arm.conditions.drafter is not None)
    counts = counts_of(cell)
    if counts is None or counts.steps <= 0:
        return
    if arm.conditions.adapts:
        yield Doubt(
            "draft-length-adapts",
            Severity.NOTE,
            "the server drafts fewer tokens where fewer are accepted: a position that was not"
            " drafted counts as not accepted, and what a step costs is a mean over lengths",
            f"speculative_adaptive, up to {arm.conditions.draft_tokens or 'an unknown number of'}"
            " draft tokens",
        )
    if is_candidate and counts.steps >= _ENOUGH_STEPS and counts.accepted == 0:
        yield Doubt(
            "nothing-accepted",
            Severity.SEVERE,
            "not one drafted token was accepted: that is no weak drafter but a wrong one,"
            " or one that is used wrongly",
            f"acceptance length exactly 1 over {counts.steps} steps",
            "Check algorithm, vocabulary map and layer ids before anything is trained.",
        )
    proposed = counts.proposed
    if proposed and counts.steps >= _ENOUGH_STEPS and counts.accepted >= _PERFECT * proposed:
        yield Doubt(
            "everything-accepted",
            Severity.WARNING,
            "every drafted token was accepted, which a real drafter does not reach",
            f"{counts.accepted} of {proposed} tokens over {counts.steps} steps",
            "Look whether the drafter is the target itself, or whether the answers loop.",
        )
    yield from _check_idle(cell, counts.steps, counts.accepted)


def _explain(why_not: str, cell: Cell, *, has_drafter: bool) -> Iterator[Doubt]:
    if is_made_up(cell.acceptance):
        yield Doubt(
            "acceptance-simulated",
            Severity.SEVERE,
            "the server makes its acceptance up; what a step costs can be believed, how many"
            " tokens are accepted and the speed cannot",
            why_not,
            "Start it without that, or use `firedup probe --step-cost`.",
        )
    elif "began anew" in why_not:
        yield Doubt(
            "server-restarted",
            Severity.SEVERE,
            "the server, or one of its engines, restarted while it was measured",
            why_not,
            "Measure again.",
        )
    elif has_drafter and cell.kept and ("not one draft" in why_not or "not speculate" in why_not):
        yield Doubt(
            "speculation-off",
            Severity.SEVERE,
            "the server was given a drafter and does not use it",
            why_not,
            "Look for a warning about the draft model in its log: firedup explain LOG.",
        )


def _check_others(cell: Cell) -> Iterator[Doubt]:
    rise = cell.counters
    if rise is None or rise.why_not is not None or rise.own is None or rise.generated is None:
        return
    others = rise.generated - rise.own
    # An end token that is not sent is counted by some engines and not by others.
    if others > _OTHERS * rise.own + 2 * len(cell.requests):
        yield Doubt(
            "other-load",
            Severity.WARNING,
            "the server answered others meanwhile: speed is that of a shared server, and its"
            " counters are of all requests",
            f"{others:,} of {rise.generated:,} generated tokens were not for this probe",
            "Measure again while nobody else asks it.",
        )


def _check_idle(cell: Cell, drafted_steps: int, accepted: int) -> Iterator[Doubt]:
    """Steps without a draft, which n-grams have: no acceptance length tells of them.

    A step gives the accepted tokens and one more; the first token of an answer is the prefill's.
    """
    tokens = [one.tokens for one in counted(cell)]
    answers = len(tokens)
    if not tokens:
        generated = cell.counters.own if cell.counters else None
        tokens = [generated] if generated is not None else []
        answers = len(cell.requests)
    if not tokens or None in tokens:
        return
    decoded = sum(one or 0 for one in tokens) - answers
    steps = decoded - accepted
    # The last step of an answer may have no room for a draft.
    if steps > 0 and steps - drafted_steps > _IDLE * steps + answers:
        yield Doubt(
            "steps-without-draft",
            Severity.WARNING,
            "many steps had no draft, as with n-grams: the acceptance length is that of the"
            " others, and so is too long for all of them",
            f"{steps - drafted_steps} of {steps} steps; {decoded / steps:.2f} tokens a step in all,"
            f" {1 + accepted / drafted_steps:.2f} in those with a draft",
            "Judge by tokens a second; the time of a step follows from tokens a step in all.",
        )
