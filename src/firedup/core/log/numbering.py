"""Line numbers for the few lines that an explanation shows, counted after the fact."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from firedup.core.model import Cause, Evidence, Explanation, Followed

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


def count_newlines(data: bytes, start: int = 0, stop: int | None = None) -> int:
    """How many LF there are in `data[start:stop]`.

    A search for one byte after the other gives the same in twice the time, and so does a copy of
    the part that is wanted: where that is most of `data`, the rest of it is counted and taken off.
    """
    stop = len(data) if stop is None else stop
    left_out = start + len(data) - stop
    if left_out > len(data) // 2:
        part = data[start:stop]
        return len(part) - len(part.replace(b"\n", b""))
    count = len(data) - len(data.replace(b"\n", b""))
    return count - data.count(b"\n", 0, start) - data.count(b"\n", stop)


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
            number += count_newlines(block, at, offset - base)
            at = offset - base
            found[offset] = number
        if not wanted:
            break
        number += count_newlines(block, at)
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
