"""Line numbers for the few lines that an explanation shows, counted after the fact."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from firedup.core.model import Cause, Evidence, Explanation, Followed

PIECE_BYTES = 1 << 16

_Placed = TypeVar("_Placed", Cause, Evidence, Followed)


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
    """How many LF there are.

    `bytes.count` gives the same in twice the time. Pieces are taken because memory for a copy of
    a large block comes fresh from the system each time, which costs more than the counting.
    """
    if len(data) <= PIECE_BYTES:
        return len(data) - len(data.replace(b"\n", b""))
    starts = range(0, len(data), PIECE_BYTES)
    return sum(count_newlines(data[at : at + PIECE_BYTES]) for at in starts)


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


@dataclass(frozen=True, slots=True)
class Place:
    """Where a line stands: its byte offset and its number from 1."""

    offset: int
    number: int


def with_numbers(explanation: Explanation, numbers: dict[int, int]) -> Explanation:
    """`explanation` with the line numbers of `numbers` (offset → number) filled in."""
    return with_places(explanation, {at: Place(at, number) for at, number in numbers.items()})


def with_places(explanation: Explanation, places: Mapping[int, Place]) -> Explanation:
    """`explanation` with each line that stands at a key of `places` put at its value."""

    def put(item: _Placed) -> _Placed:
        place = places.get(item.offset) if item.offset is not None else None
        if place is None:
            return item
        return replace(item, offset=place.offset, line_number=place.number)

    def put_all(items: tuple[_Placed, ...]) -> tuple[_Placed, ...]:
        return tuple(put(item) for item in items)

    cause = explanation.cause
    return replace(
        explanation,
        cause=replace(put(cause), evidence=put_all(cause.evidence)) if cause else None,
        followed=put_all(explanation.followed),
        findings=tuple(
            replace(finding, evidence=put_all(finding.evidence)) for finding in explanation.findings
        ),
    )
