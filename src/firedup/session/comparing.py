"""Refuses to compare what is not comparable, and names an option or a measurement that fits."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from firedup.core.error import IncomparableError
from firedup.core.measure.comparable import Obstacle, Weight, are_comparable, find_obstacles
from firedup.core.measure.measured import Arm, Conditions
from firedup.store.probe import StoredProbe


def refuse_incomparable(
    baseline: Arm, candidate: Arm, *, kept: Sequence[tuple[StoredProbe, StoredProbe]] = ()
) -> None:
    """IncomparableError with the first thing that forbids to compare the two.

    `kept` are other pairs that may be meant, the likeliest first: one that fits is named.
    """
    found = find_obstacles(baseline.conditions, candidate.conditions)
    if are_comparable(found):
        return
    first = next(one for one in found if one.weight is Weight.FORBIDS)
    raise IncomparableError(
        f"the two are not comparable: {first.name} differs",
        evidence=f"baseline {first.baseline}, candidate {first.candidate}",
        why=first.why,
        todo=_advise(first, baseline.conditions, kept),
    )


def _advise(
    first: Obstacle, baseline: Conditions, kept: Sequence[tuple[StoredProbe, StoredProbe]]
) -> str:
    for one, other in kept:
        if are_comparable(find_obstacles(one.arm.conditions, other.arm.conditions)):
            words = shlex.join(["firedup", "compare", one.id, other.id])
            return f"These, which are kept too, are comparable: {words}"
    options = {
        "max tokens": f"--max-tokens {baseline.max_tokens}",
        "ignores eos": "--fixed" if baseline.ignores_eos else "--natural",
        "prompts": "the --prompts file of the baseline, or none where that had none",
    }
    if first.name == "speculation":
        return "Name the server without a drafter as the baseline, and the other as the candidate."
    option = options.get(first.name)
    if option is None:
        return "Measure both anew, with nothing different but the drafter."
    return f"Measure the candidate as the baseline was, with {option}, or with --baseline alone."
