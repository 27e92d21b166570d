"""Launch flags that fit a drafter, with their reasons, for people and as JSON."""

from __future__ import annotations

from collections.abc import Sequence

from firedup.core.checked import CheckFinding
from firedup.core.fitted import Fitted
from firedup.view.paper import Paper
from firedup.view.record import SCHEMA
from firedup.view.redact import clean, render_argv
from firedup.view.unfit import name_fault


def render_fitted(found: Sequence[Fitted], paper: Paper) -> str:
    """One part for each engine, without a final line break."""
    lines: list[str] = []
    for one in found:
        lines += ([""] if lines else []) + _part(one, paper)
    if not all(one.choices for one in found):
        hint = "firedup check has the evidence; --force prints the flags all the same."
        lines += ["", paper.paint(hint, "faint")]
    return paper.finish(lines)


def _part(one: Fitted, paper: Paper) -> list[str]:
    name = f"{one.title} {one.version or ''}".rstrip()
    if one.fits:
        head = paper.paint(f"✓ flags for {clean(name)}", "green", "bold")
    else:
        begin = "flags" if one.choices else "no flags"
        head = f"✗ {begin} for {clean(name)}: {name_fault(one.findings)}"
        head = paper.paint(head, "red", "bold")
    lines = [head]
    for finding in one.findings:
        text = f"{finding.harm.value}: {finding.message}"
        lines += paper.fold(clean(text), indent="  ! ", rest="    ")
        if not one.choices:
            lines += _why(finding, paper)
    for choice in one.choices:
        lines.append(f"  {render_argv(choice.words)}")
        lines += [
            paper.paint(x, "faint") for x in paper.fold(clean(choice.reason), indent="      ")
        ]
    for doubt in one.doubts:
        lines += paper.fold(clean(doubt), indent="  ? ", rest="    ")
    if one.command:
        words = (*(f"{k}={v}" for k, v in one.variables), *one.command)
        lines += ["", f"  {render_argv(words)}"]
    return lines


def _why(finding: CheckFinding, paper: Paper) -> list[str]:
    """What was seen first, and what helps."""
    lines = []
    for evidence in finding.evidence[:1]:
        folded = paper.fold(clean(evidence.text), indent="    ", rest="      ")
        lines += [paper.paint(line, "faint") for line in folded]
    if finding.remedy:
        lines += paper.fold(clean(finding.remedy), indent="    → ", rest="      ")
    return lines


def record_fitted(target: str, draft: str, found: Sequence[Fitted]) -> dict[str, object]:
    """The same for programs."""
    return {
        "schema": SCHEMA,
        "target": target,
        "draft": draft,
        "engines": [
            {
                "engine": one.engine,
                "version": one.version,
                "fits": one.fits,
                "flags": [
                    {"words": list(choice.words), "reason": choice.reason}
                    for choice in one.choices
                    if not choice.is_variable
                ],
                "environment": [
                    {"words": list(choice.words), "reason": choice.reason}
                    for choice in one.choices
                    if choice.is_variable
                ],
                "command": list(one.command),
                "doubts": list(one.doubts),
                "findings": [_record(finding) for finding in one.findings],
            }
            for one in found
        ],
    }


def _record(one: CheckFinding) -> dict[str, object]:
    return {
        "id": one.id,
        "harm": one.harm.value,
        "message": one.message,
        "remedy": one.remedy,
    }
