"""What keeps a pair from fitting, in the few words of a heading."""

from __future__ import annotations

from collections.abc import Sequence

from firedup.core.checked import NOT_WHOLE, CheckFinding, grave

_BOTH = frozenset({"target", "draft"})
_ABSENT = {"target": "no target was found", "draft": "no drafter was found"}
_DAMAGED = {"target": "the target is not whole", "draft": "the drafter is not whole"}


def name_fault(findings: Sequence[CheckFinding]) -> str:
    """The one that is at fault, of findings that hold a grave one."""
    found = grave(findings)
    damages = [one for one in found if one.id in NOT_WHOLE]
    if damages:
        is_absent = all(one.id == "weights-not-found" for one in damages)
        of_one = _ABSENT if is_absent else _DAMAGED
        of_both = "no models were found" if is_absent else "neither target nor drafter is whole"
        whose = {one.subject for one in damages}
        return of_both if whose == _BOTH else of_one[damages[0].subject]
    subjects = {one.subject for one in found}
    if subjects == {"flags"}:
        return "the launch flags do not fit"
    return "the target does not fit" if subjects == {"target"} else "the drafter does not fit"
