"""Where the bytes of each generation of a log can still be read: by another name, in a copy."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from firedup.host.logfile import MARK_BYTES, LogFile, LogFiles
from firedup.session.generation import Generation, Mark

PROOFS = 3  # the last marks of a generation that are looked for
_CLOCK_STEP_NS = 20_000_000  # files get their time stamps from a coarser clock
_NUMBER = re.compile(r"\.(\d)(?:\.\w+)?$")


@dataclass(frozen=True, slots=True)
class Volume:
    """A generation and its bytes from `start` to `end`, in `file`; None when they are gone."""

    generation: Generation
    file: LogFile | None
    start: int
    end: int

    @property
    def lost_bytes(self) -> int | None:
        """How many bytes were seen in it that can be read no more; None: some, not known how many.

        What came after the last look at it, nobody counted.
        """
        missing = self.generation.end - max(self.start, self.end if self.file else 0)
        if missing > 0:
            return missing
        return None if self.generation.has_gap else 0


def wanted_sizes(generations: Iterable[Generation]) -> frozenset[int]:
    """The offsets at which the files beside a log are to be marked, to know them again."""
    return frozenset(mark.offset for one in generations for mark in one.proofs[:PROOFS])


def find_volumes(
    generations: Sequence[Generation],
    found: LogFiles,
    log: str,
    log_start: int,
    end: int | None,
    bare_wall_ns: int | None = None,
) -> tuple[Volume, ...]:
    """A volume for each generation, and for those that came and went between two samples.

    `end` is where the last one ends when the run is over: what follows is a later run's.
    `bare_wall_ns` is when there was no log, or an empty one, at the end of what is known.
    """
    files = _find_files(generations, found.files)
    listed, files = _insert_unseen(generations, files, found, log)
    if bare_wall_ns is not None:
        _add_unseen(listed, files, found, log, bare_wall_ns)
    volumes = []
    for one in listed:
        file = files.get(one.number)
        stop = file.size if file is not None else 0
        if end is not None and one is listed[-1]:
            stop = min(stop, end)
        start = log_start if one.number == 0 else 0
        volumes.append(Volume(one, file, start, max(start, stop)))
    return tuple(volumes)


def _find_files(
    generations: Sequence[Generation], files: Collection[LogFile]
) -> dict[int, LogFile]:
    """The newest takes first: a truncated log still is the file that it was before."""
    taken: dict[int, LogFile] = {}
    identities = {one.identity for one in generations}
    for one in reversed(generations):
        rest = [f for f in files if f not in taken.values() and not f.is_packed]
        own = [f for f in rest if f.identity == one.identity and _holds(f, one)]
        copies = [f for f in rest if f.identity not in identities and _proof_in(f, one)]
        copies.sort(key=lambda f: -_offset(_proof_in(f, one)))
        if own or copies:
            taken[one.number] = (own or copies)[0]
    return taken


def _holds(file: LogFile, one: Generation) -> bool:
    """Whether the file that it was still has its bytes."""
    if one.head is not None and file.size >= MARK_BYTES and file.head != one.head:
        return False
    if one.proofs:
        return file.tails.get(one.proofs[0].offset) == one.proofs[0].tail
    return file.size >= one.end


def _proof_in(file: LogFile, one: Generation) -> Mark | None:
    """The last mark of the generation that is in a file, which may be a copy of it."""
    if one.head is not None and file.head != one.head:
        return None
    return next((m for m in one.proofs[:PROOFS] if file.tails.get(m.offset) == m.tail), None)


def _offset(mark: Mark | None) -> int:
    return mark.offset if mark else 0


def _insert_unseen(
    generations: Sequence[Generation],
    files: dict[int, LogFile],
    found: LogFiles,
    log: str,
) -> tuple[list[Generation], dict[int, LogFile]]:
    """Add what was born, filled and moved away between two samples, as its time stamp shows.

    A number that a rotator left out shows that there was more, which is gone.
    """
    listed: list[Generation] = [generations[0]]
    placed = {0: files[0]} if 0 in files else {}
    known = {file.head for file in files.values()} | {one.head for one in generations}
    identities = {one.identity for one in generations}
    for before, after in pairwise(generations):
        if not after.is_recorded:
            unseen = [
                f
                for f in _between(before, after, found.files, log)
                if f not in files.values() and f.identity not in identities
                if not f.is_packed and f.head not in known
            ]
            for file in unseen:
                age_ns = found.wall_ns - file.modified_wall_ns
                at_ns = min(max(found.at_ns - age_ns, listed[-1].at_ns), after.at_ns)
                made = Generation(len(listed), "rotated", at_ns, file.identity)
                placed[made.number] = file
                listed.append(made)
            ends = (files.get(before.number), files.get(after.number))
            if not unseen and _has_skipped(*ends, found.files):
                listed[-1] = replace(listed[-1], has_gap=True)
        if after.number in files:
            placed[len(listed)] = files[after.number]
        listed.append(replace(after, number=len(listed)))
    return listed, placed


def _add_unseen(
    listed: list[Generation],
    files: dict[int, LogFile],
    found: LogFiles,
    log: str,
    bare_wall_ns: int,
) -> None:
    """Add what came after the last sample with content, and was moved or copied away as well."""
    last = listed[-1]
    seen_ns = last.seen[1] if last.seen else None
    if seen_ns is None:
        return
    identities = {one.identity for one in listed}
    known = {file.head for file in files.values()} | {one.head for one in listed}
    unseen = [
        f
        for f in found.files
        if seen_ns - _CLOCK_STEP_NS <= f.modified_wall_ns <= bare_wall_ns
        if f.size > 0 and f.continues(log) and not f.is_log and not f.is_packed
        if f not in files.values() and f.identity not in identities and f.head not in known
    ]
    for file in sorted(unseen, key=lambda f: f.modified_wall_ns):
        age_ns = found.wall_ns - file.modified_wall_ns
        at_ns = max(found.at_ns - age_ns, listed[-1].at_ns)
        made = Generation(len(listed), "rotated", at_ns, file.identity)
        files[made.number] = file
        listed.append(made)


def _between(
    before: Generation, after: Generation, files: Iterable[LogFile], log: str
) -> Iterator[LogFile]:
    """Files that were last written between the last sample of one and the first of the next."""
    if before.seen is None or after.seen is None:
        return
    for file in files:
        is_then = before.seen[1] - _CLOCK_STEP_NS <= file.modified_wall_ns <= after.seen[0]
        if is_then and file.size > 0 and file.continues(log) and not file.is_log:
            yield file


def _has_skipped(before: LogFile | None, after: LogFile | None, files: Iterable[LogFile]) -> bool:
    """Whether a rotator that counts up moved more than one file away meanwhile: .2 and no .1."""
    if before is None or after is None:
        return False
    low, high = _number_of(after), _number_of(before)
    if low is None or high is None:
        return False
    plain = [_number_of(file) for file in files if not file.is_packed]
    between = [number for number in plain if number is not None and low < number < high]
    return high - low > 1 and not between


def _number_of(file: LogFile) -> int | None:
    found = _NUMBER.search(file.path)
    return 0 if file.is_log else int(found[1]) if found else None
