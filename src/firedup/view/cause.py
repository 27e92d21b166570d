"""The cause of a failure and what followed from it, as lines of text."""

from __future__ import annotations

import re
from dataclasses import replace

from firedup.core.model import Cause, Evidence, Finding, Followed, Severity
from firedup.view.paper import MESSAGE_HEAD, Paper, count_columns, pad
from firedup.view.prefix import strip_advice, strip_prefix
from firedup.view.redact import clean

MOST_FOLLOWED = 5
_MOST_QUOTED = 3
_VARYING = re.compile(r"0x[0-9a-fA-F]+|\d+")


def render_cause(cause: Cause, paper: Paper) -> list[str]:
    """Class, meaning, the line with its place, evidence from outside, remedy."""
    lines = [paper.paint(cause.failure, "bold", "red")]
    if cause.meaning:
        lines += paper.fold(clean(cause.meaning), indent="  ")
    lines += _quote(cause.line, paper)
    place = [
        f"line {cause.line_number}" if cause.line_number is not None else None,
        cause.rank,
        f"in {cause.stage}" if cause.stage else None,
        f"rule {cause.rule}" if cause.rule else None,
    ]
    said = " · ".join(clean(part) for part in place if part)
    if said:
        lines += [paper.paint(line, "faint") for line in paper.fold(said, indent="  ")]
    shown = {cause.line.strip()}
    for evidence in cause.evidence:
        if evidence.text.strip() not in shown:
            shown.add(evidence.text.strip())
            lines += render_evidence(evidence, paper, indent="  ")
    if cause.remedy:
        lines += ["", paper.paint("what to do", "bold")]
        lines += paper.fold(clean(cause.remedy), indent="  ")
    return lines


def render_followed(followed: tuple[Followed, ...], paper: Paper) -> list[str]:
    """What followed from the cause: equal messages counted once, at most five of them."""
    groups: dict[tuple[str, str], list[Followed]] = {}
    for item in followed:
        message = strip_prefix(clean(item.line))
        groups.setdefault((item.role, _VARYING.sub("#", message)), []).append(item)
    lines = []
    for (role, _), items in list(groups.items())[:MOST_FOLLOWED]:
        first = items[0]
        place = f"line {first.line_number}" if first.line_number is not None else ""
        times = f" × {len(items)}" if len(items) > 1 else ""
        head = f"  {pad(place, 10)} {pad(role, 8)} "
        message = strip_advice(strip_prefix(clean(first.line)))
        room = paper.columns - count_columns(head) - count_columns(times)
        if room < 24:
            lines.append(paper.paint(f"  {place} {role}{times}".rstrip(), "faint"))
            lines.append("    " + paper.cut_message(message, paper.columns - 4))
        else:
            lines.append(paper.paint(head, "faint") + paper.cut_message(message, room) + times)
    hidden = sum(len(items) for items in list(groups.values())[MOST_FOLLOWED:])
    if hidden:
        lines.append(paper.paint(f"  and {hidden} more", "faint"))
    return lines


def render_findings(findings: tuple[Finding, ...], paper: Paper) -> list[str]:
    """The findings, the most severe first, each with its evidence and remedy."""
    lines: list[str] = []
    for finding in sorted(findings, key=lambda item: list(Severity).index(item.severity)):
        symbol, tone = {
            Severity.SEVERE: ("✗", "red"),
            Severity.WARNING: ("!", "yellow"),
            Severity.NOTE: ("·", "cyan"),
        }[finding.severity]
        name = clean(finding.id)
        folded = paper.fold(f"{name}: {clean(finding.message)}", indent="  ! ", rest="    ")
        painted = paper.paint(symbol, tone, "bold") + " " + paper.paint(f"{name}:", tone)
        lines.append(folded[0].replace(f"! {name}:", painted, 1))
        lines += folded[1:]
        for evidence in finding.evidence:
            lines += render_evidence(evidence, paper, indent="    ")
        if finding.remedy:
            lines += paper.fold(clean(finding.remedy), indent="    → ")
    return lines


def render_evidence(evidence: Evidence, paper: Paper, *, indent: str) -> list[str]:
    """One observation on one line, its place first."""
    place = f"line {evidence.line_number}" if evidence.line_number is not None else evidence.kind
    head = f"{indent}{place}: "
    room = max(16, paper.columns - count_columns(head))
    text = strip_prefix(clean(evidence.text))
    return [paper.paint(head + paper.cut_message(text, room), "faint")]


def _quote(line: str, paper: Paper) -> list[str]:
    """The line of the log without its prefix, cut inside to three lines (on narrow paper more)."""
    bar = "  │ "
    inner = replace(paper, columns=paper.columns - count_columns(bar))
    text = strip_advice(strip_prefix(clean(line)))
    least = MESSAGE_HEAD + 12  # so much of it is shown, however many lines that takes
    room = max(least, _MOST_QUOTED * inner.columns)
    parts = inner.fold(text)
    while len(parts) > _MOST_QUOTED and room >= least:
        parts = inner.fold(inner.cut_message(text, room))
        room -= 8
    return [paper.paint(bar, "red") + part for part in parts]
