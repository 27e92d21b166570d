"""The cause of a failure and what followed from it, as lines of text."""

from __future__ import annotations

import re
from dataclasses import replace

from firedup.core.model import Cause, Evidence, Finding, Followed, Severity
from firedup.view.paper import COMPACT_BELOW, MESSAGE_HEAD, Paper, count_columns, pad
from firedup.view.prefix import strip_advice, strip_prefix
from firedup.view.redact import clean

MOST_FOLLOWED = 5
MOST_FINDINGS = 6
MOST_EVIDENCE = 6  # observations of one finding
MOST_NOTES = 3  # beside findings that matter more there is room for fewer
_LEAST_FOLLOWED = 48  # columns: a message that needs more than it has beside its place goes below
_MOST_QUOTED = 3  # lines of a cause or of last words, or as many as are needed for …
_MOST_COLUMNS = 225  # … so much of it
_MOST_TOLD = 4  # lines of an observation that is no line of a log
_VARYING = re.compile(r"0x[0-9a-fA-F]+|\d+")


def render_cause(cause: Cause, paper: Paper) -> list[str]:
    """Class, meaning, the line with its place, evidence from outside, remedy."""
    lines = [paper.paint(cause.failure, "bold", "red")]
    if cause.meaning:
        lines += paper.fold(clean(cause.meaning), indent="  ")
    lines += _surround(cause, cause.before, paper)
    lines += _quote(cause.line, paper, is_marked=bool(cause.before or cause.after))
    lines += _surround(cause, cause.after, paper)
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


def render_followed(
    followed: tuple[Followed, ...],
    paper: Paper,
    *,
    cause: Cause | None = None,
    most: int = MOST_FOLLOWED,
) -> list[str]:
    """What followed from the cause: equal messages counted once, at most `most`, in their order.

    Where there are more, those of an orderly end go first. What only repeats `cause` is left out.
    """
    known = _VARYING.sub("#", _message(cause.line)) if cause else None
    groups: dict[tuple[str | None, str, str], list[Followed]] = {}
    for item in followed:
        message = _VARYING.sub("#", _message(item.line))
        if message != known or item.node is not None:
            groups.setdefault((item.node, item.role, message), []).append(item)
    telling = sorted(groups, key=lambda key: key[1] == "teardown")[:most]
    lines: list[str] = []
    for key, items in groups.items():
        if key in telling:
            lines += _followed(items, paper)
    hidden = sum(len(items) for key, items in groups.items() if key not in telling)
    if hidden:
        lines.append(paper.paint(f"  and {hidden} more", "faint"))
    return lines


def _followed(items: list[Followed], paper: Paper) -> list[str]:
    first = items[0]
    place = f"line {first.line_number}" if first.line_number is not None else ""
    place = place if first.node is None else f"{clean(first.node)} {place}".rstrip()
    times = f" × {len(items)}" if len(items) > 1 else ""
    head = f"  {pad(place, 10)} {pad(first.role, 8)} "
    message = _message(first.line)
    room = paper.columns - count_columns(head) - count_columns(times)
    if room < min(_LEAST_FOLLOWED, count_columns(message)):
        return [
            paper.paint(f"  {place} {first.role}{times}".rstrip(), "faint"),
            "    " + paper.cut_message(message, paper.columns - 4),
        ]
    return [paper.paint(head, "faint") + paper.cut_message(message, room) + times]


def render_findings(
    findings: tuple[Finding, ...], paper: Paper, *, has_all: bool = False
) -> list[str]:
    """The findings, the most severe first, with evidence and remedy; notes are few and faint."""
    order = list(Severity)
    ranked = sorted(findings, key=lambda item: order.index(item.severity))
    notes = [finding for finding in ranked if finding.severity is Severity.NOTE]
    grave = ranked[: len(ranked) - len(notes)]
    shown = grave[:MOST_FINDINGS]
    shown += notes[: max(1, MOST_NOTES - len(shown))]
    shown = ranked if has_all else shown
    lines = [line for finding in shown for line in _finding(finding, paper)]
    if len(shown) < len(ranked):
        hidden = f"and {len(ranked) - len(shown)} more, all of them in the output of --json"
        lines += [paper.paint(line, "faint") for line in paper.fold(hidden, indent="  ")]
    return lines


def _finding(finding: Finding, paper: Paper) -> list[str]:
    symbol, tone = {
        Severity.SEVERE: ("✗", "red"),
        Severity.WARNING: ("!", "yellow"),
        Severity.NOTE: ("·", "faint"),
    }[finding.severity]
    is_note = finding.severity is Severity.NOTE
    name = clean(finding.id)
    folded = paper.fold(f"{name}: {clean(finding.message)}", indent="  ! ", rest="    ")
    if is_note:
        lines = [folded[0].replace("!", symbol, 1), *folded[1:]]
    else:
        painted = paper.paint(symbol, tone, "bold") + " " + paper.paint(f"{name}:", tone)
        lines = [folded[0].replace(f"! {name}:", painted, 1), *folded[1:]]
        shown = finding.evidence[:MOST_EVIDENCE]
        for evidence in shown:
            lines += render_evidence(evidence, paper, indent="    ")
        if (hidden := len(finding.evidence) - len(shown)) > 0:
            lines.append(paper.paint(f"    and {hidden} more, with --json all of them", "faint"))
    if finding.remedy:
        lines += paper.fold(clean(finding.remedy), indent="    → ")
    return [paper.paint(line, "faint") for line in lines] if is_note else lines


def render_evidence(evidence: Evidence, paper: Paper, *, indent: str) -> list[str]:
    """One observation on one line, its place first; the last words of a log as they stand there.

    What is no line of a log is whole, on more lines where it must: its end is often the point.
    """
    if evidence.kind == "line" and evidence.line_number is None:
        return _last_words(evidence, paper, indent=indent)
    place = f"line {evidence.line_number}" if evidence.line_number is not None else evidence.kind
    head = f"{indent}{place}: "
    if evidence.kind != "line":
        text = paper.cut_message(clean(evidence.text), _MOST_TOLD * max(40, paper.columns))
        lines = paper.fold(text, indent=head, rest=f"{indent}  ")
        return [paper.paint(line, "faint") for line in lines]
    room = max(16, paper.columns - count_columns(head))
    text = _message(evidence.text)
    return [paper.paint(head + paper.cut_message(text, room), "faint")]


def _last_words(evidence: Evidence, paper: Paper, *, indent: str) -> list[str]:
    """What a log said at its end, which nobody knows to be about the failure."""
    label, bar = "last words ", "│ "
    if paper.columns < COMPACT_BELOW:
        lines, head = [paper.paint(indent + label, "faint")], indent + bar
    else:
        lines, head = [], indent + label + bar
    inner = replace(paper, columns=max(16, paper.columns - count_columns(head)))
    text = inner.cut_message(_message(evidence.text), _MOST_QUOTED * inner.columns - 8)
    below = pad("", count_columns(head) - len(bar)) + bar
    for line in inner.fold(text):
        lines.append(paper.paint(head, "faint") + line)
        head = below
    return lines


def _surround(cause: Cause, context: tuple[str, ...], paper: Paper) -> list[str]:
    """Lines of the log beside the cause, one row each.

    What its writer put before its messages is left out, as it is before the cause's own.
    """
    bar = "  │ "
    room = paper.columns - count_columns(bar)
    own = _mask_prefix(clean(cause.line))
    lines = []
    for line in map(clean, context):
        is_own = bool(own) and _mask_prefix(line) == own
        text = line[_prefix_length(line) :] if is_own else line
        lines.append(paper.paint(bar + paper.cut_message(text, room), "faint"))
    return lines


def _mask_prefix(line: str) -> str:
    return _VARYING.sub("#", line[: _prefix_length(line)])


def _prefix_length(line: str) -> int:
    """How much stands before the message, its indentation not counted."""
    head = line[: len(line) - len(strip_prefix(line))]
    return len(head.rstrip()) + (1 if head[len(head.rstrip()) :] else 0) if head.strip() else 0


def _quote(line: str, paper: Paper, *, is_marked: bool) -> list[str]:
    """The line of the log without its prefix, cut inside where it is too long.

    `is_marked` tells it from the lines around it, without colour too.
    """
    bar = "  │ "
    inner = replace(paper, columns=paper.columns - count_columns(bar))
    text = _message(line)
    least = MESSAGE_HEAD + 12  # so much of it is shown, however many lines that takes
    most = max(_MOST_QUOTED, -(-_MOST_COLUMNS // inner.columns))
    room = max(least, most * inner.columns)
    parts = inner.fold(text)
    while len(parts) > most and room >= least:
        parts = inner.fold(inner.cut_message(text, room))
        room -= 8
    bars = ["  ▸ " if is_marked else bar, *[bar] * len(parts)]
    return [paper.paint(b, "red") + part for b, part in zip(bars, parts, strict=False)]


def _message(line: str) -> str:
    return strip_advice(strip_prefix(clean(line)))
