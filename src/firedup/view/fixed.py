"""What became of a drafter that was to be corrected, for people and as JSON."""

from __future__ import annotations

from firedup.core.checked import NOT_WHOLE, CheckFinding, Fixed, Harm
from firedup.view.headline import render_section
from firedup.view.paper import Paper
from firedup.view.quantity import render_count
from firedup.view.record import SCHEMA
from firedup.view.redact import clean
from firedup.view.unfit import name_fault

_MOST_LINKS, _MOST_EVIDENCE = 4, 3


def render_fixed(fixed: Fixed, paper: Paper) -> str:
    """The whole statement, without a final line break."""
    lines = [paper.paint(_headline(fixed), *_tone(fixed))]
    if fixed.out is not None:
        lines += paper.fold(clean(fixed.out), indent="  ")
    done: list[str] = []
    for sentence in fixed.done:
        done += paper.fold(clean(sentence), indent="  ", rest="    ")
    done += _links(fixed, paper)
    lines += render_section("what was done", done, paper)
    left: list[str] = []
    for one in fixed.left:
        left += _finding(one, paper)
    lines += render_section("what is left", left, paper)
    return paper.finish(lines)


def _links(fixed: Fixed, paper: Paper) -> list[str]:
    """Which files are the drafter's own still, and how the copy gets its own."""
    if not fixed.links:
        return []
    shown = ", ".join(name for name, _ in fixed.links[:_MOST_LINKS])
    more = len(fixed.links) - _MOST_LINKS
    count = render_count(len(fixed.links), "symbolic link", "symbolic links")
    text = f"{count} into the drafter's: {shown}{f' and {more} more' if more > 0 else ''}"
    return [
        *paper.fold(clean(text), indent="  ", rest="    "),
        *paper.fold("cp -rL makes a copy of it that needs the drafter no more", indent="    → "),
    ]


def _headline(fixed: Fixed) -> str:
    is_damaged = any(one.id in NOT_WHOLE for one in fixed.left)
    if fixed.out is None:
        if is_damaged:
            return f"✗ nothing was corrected: {name_fault(fixed.left)}"
        if fixed.left:
            sign = "✗" if fixed.exit_status else "!"
            return f"{sign} nothing could be corrected without guessing"
        return "✓ there is nothing to correct"
    if is_damaged:
        return f"✗ the copy is corrected, but {name_fault(fixed.left)}"
    if fixed.exit_status:
        return "✗ the corrected copy still does not fit"
    return "✓ the corrected copy fits"


def _tone(fixed: Fixed) -> tuple[str, str]:
    if fixed.exit_status:
        return ("red", "bold")
    return ("yellow" if fixed.left and fixed.out is None else "green", "bold")


def _finding(one: CheckFinding, paper: Paper) -> list[str]:
    head = f"  {clean(one.id)}: {clean(one.message)}"
    lines = paper.fold(head.strip(), indent="  ", rest="    ")
    for evidence in one.evidence[:_MOST_EVIDENCE]:
        folded = paper.fold(clean(evidence.text), indent="    ", rest="      ")
        lines += [paper.paint(line, "faint") for line in folded]
    if one.remedy:
        lines += paper.fold(clean(one.remedy), indent="    → ", rest="      ")
    return lines


def record_fixed(fixed: Fixed) -> dict[str, object]:
    """The same for programs."""
    return {
        "schema": SCHEMA,
        "out": fixed.out,
        "done": list(fixed.done),
        "linked": len(fixed.links),
        "links": [{"file": name, "to": to} for name, to in fixed.links],
        "fits": fixed.exit_status == 0,
        "worst": min((one.harm for one in fixed.left), key=_rank).value if fixed.left else None,
        "left": [
            {
                "id": one.id,
                "harm": one.harm.value,
                "message": one.message,
                "evidence": [item.text for item in one.evidence],
                "remedy": one.remedy,
            }
            for one in fixed.left
        ],
    }


def _rank(harm: Harm) -> int:
    return harm.rank
