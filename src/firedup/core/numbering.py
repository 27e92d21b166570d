"""Line numbers for the few lines that an explanation shows, counted after the fact."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from firedup.core.model import Evidence, Explanation


def shown_offsets(explanation: Explanation) -> tuple[int, ...]:
    """Byte offsets of all lines that the explanation quotes, ascending."""
    offsets = {item.offset for item in explanation.followed}
    if explanation.cause is not None:
        offsets.add(explanation.cause.offset)
        offsets |= {evidence.offset for evidence in explanation.cause.evidence}
    for finding in explanation.findings:
        offsets |= {evidence.offset for evidence in finding.evidence}
    return tuple(sorted(offset for offset in offsets if offset is not None))


def count_newlines(data: bytes) -> int:
    """How many LF there are; `bytes.count` gives the same in twice the time."""
    return len(data) - len(data.replace(b"\n", b""))


def count_lines(blocks: Iterable[bytes], offsets: tuple[int, ...]) -> dict[int, int]:
    """The line number of each of the ascending `offsets` in the log that `blocks` make up.

    Lines are counted from 1 and end with LF, as `sed -n` counts. Blocks past the last offset are
    not asked for.
    """
    found: dict[int, int] = {}
    wanted = list(reversed(offsets))
    base, number = 0, 1
    if not wanted:
        return found
    for block in blocks:
        at = 0
        while wanted and wanted[-1] < base + len(block):
            offset = wanted.pop()
            number += count_newlines(block[at : offset - base])
            at = offset - base
            found[offset] = number
        if not wanted:
            break
        number += count_newlines(block[at:])
        base += len(block)
    return found


def with_numbers(explanation: Explanation, numbers: dict[int, int]) -> Explanation:
    """`explanation` with the line numbers of `numbers` (offset → number) filled in."""

    def number_all(evidence: tuple[Evidence, ...]) -> tuple[Evidence, ...]:
        return tuple(
            replace(item, line_number=numbers.get(item.offset, item.line_number))
            if item.offset is not None
            else item
            for item in evidence
        )

    cause = explanation.cause
    if cause is not None and cause.offset is not None:
        cause = replace(
            cause,
            line_number=numbers.get(cause.offset, cause.line_number),
            evidence=number_all(cause.evidence),
        )
    followed = tuple(
        replace(item, line_number=numbers.get(item.offset, item.line_number))
        if item.offset is not None
        else item
        for item in explanation.followed
    )
    findings = tuple(
        replace(finding, evidence=number_all(finding.evidence)) for finding in explanation.findings
    )
    return replace(explanation, cause=cause, followed=followed, findings=findings)
