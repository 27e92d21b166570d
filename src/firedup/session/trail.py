"""Where the bytes of each generation of a log can still be read: by another name, in a copy."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from firedup.host.logfile import MARK_BYTES, LogFile, LogFiles
from firedup.session.generation import Generation, Mark

PROOFS = 3  # the last marks of a generation that are looked for
_CLOCK_STEP_NS = 20_000_000  # files get their time stamps from a coarser clock
_NUMBER = re.compile(r"\.(\d{1,3})(?:\.\w+)?$")  # not a date


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


@dataclass(frozen=True, slots=True)
class Unseen:
    """The host's wall clock when there was no log, or an empty one, at two ends of what is known.

    `since`: at the beginning, before anybody had seen a byte; `until`: at the end. None: there was.
    """

    since: int | None = None
    until: int | None = None


_NOTHING = Unseen()


def wanted_sizes(generations: Iterable[Generation]) -> frozenset[int]:
    """The offsets at which the files beside a log are to be marked, to know them again."""
    return frozenset(mark.offset for one in generations for mark in one.proofs[:PROOFS])


def find_volumes(
    generations: Sequence[Generation],
    found: LogFiles,
    log: str,
    log_start: int,
    end: int | None,
    bare: Unseen = _NOTHING,
) -> tuple[Volume, ...]:
    """A volume for each generation, and for those that came and went between two samples.

    `end` is where the last one ends when the run is over: what follows is a later run's.
    """
    files = _find_files(generations, found.files)
    listed, files = _insert_unseen(generations, files, found, log, bare)
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
    files: Mapping[int, LogFile],
    found: LogFiles,
    log: str,
    bare: Unseen,
) -> tuple[list[Generation], dict[int, LogFile]]:
    """Add what was born, filled and moved away between two samples, as its time stamp shows.

    A number that a rotator left out shows that there was more, which is gone.
    """
    listed: list[Generation] = []
    placed: dict[int, LogFile] = {}
    strange = _strangers(generations, files, found, log)

    def add(since_ns: int | None, until_ns: int | None, before_ns: int | None) -> bool:
        unseen = _between(since_ns, until_ns, strange)
        for file in unseen:
            strange.remove(file)
            at_ns = found.at_ns - (found.wall_ns - file.modified_wall_ns)
            at_ns = max(at_ns, listed[-1].at_ns) if listed else max(at_ns, 0)
            at_ns = at_ns if before_ns is None else min(at_ns, before_ns)
            made = Generation(len(listed), "rotated", at_ns, file.identity)
            if not listed:  # what was recorded as the first was this
                first = generations[0]
                recorded = (first.is_recorded, first.is_named)
                made = replace(made, state="opened", is_recorded=recorded[0], is_named=recorded[1])
            placed[len(listed)] = file
            listed.append(made)
        return bool(unseen)

    before: Generation | None = None
    last_ns = bare.since  # when what was listed last had not been moved away yet
    for one in generations:
        if before is not None and not one.is_recorded:
            has_more = add(last_ns, _first_seen(one), one.at_ns)
            ends = (files.get(before.number), files.get(one.number))
            if not has_more and _has_skipped(*ends, found.files):
                listed[-1] = replace(listed[-1], has_gap=True)
        elif before is None:
            add(bare.since, _first_seen(one), None)
        if one.number in files:
            placed[len(listed)] = files[one.number]
        moved = replace(one, number=len(listed))
        if before is None and listed:
            moved = replace(moved, state="rotated", at_ns=listed[-1].at_ns, is_recorded=False)
        listed.append(moved)
        last_ns = _last_written(one, files.get(one.number)) or last_ns
        before = one
    add(last_ns, bare.until, None)
    return listed, placed


def _strangers(
    generations: Iterable[Generation], files: Mapping[int, LogFile], found: LogFiles, log: str
) -> list[LogFile]:
    """Files that rotators made of the log and that no generation is known to be in.

    One may be the very file that an earlier generation was, before it was truncated.
    """
    known = {file.head for file in files.values()} | {one.head for one in generations}
    taken = {file.identity for file in files.values()}
    return [
        file
        for file in sorted(found.files, key=_age)
        if file.size > 0 and file.continues(log) and not file.is_log and not file.is_packed
        if file.identity not in taken and file.head not in known
    ]


def _age(file: LogFile) -> tuple[int, int]:
    """Written earlier comes first; of two in one tick of the clock, that with the higher number."""
    return file.modified_wall_ns, -(_number_of(file) or 0)


def _between(
    since_ns: int | None, until_ns: int | None, strange: Iterable[LogFile]
) -> tuple[LogFile, ...]:
    """Those last written between the last look at one generation and the first at the next."""
    if since_ns is None or until_ns is None:
        return ()
    first_ns = since_ns - _CLOCK_STEP_NS
    return tuple(file for file in strange if first_ns <= file.modified_wall_ns <= until_ns)


def _first_seen(one: Generation) -> int | None:
    return one.seen[0] if one.seen else None


def _last_written(one: Generation, file: LogFile | None) -> int | None:
    """When it was still the log; a file that no sample saw was so when it was last written."""
    if one.seen is not None:
        return one.seen[1]
    return file.modified_wall_ns if file is not None and not file.is_log else None


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
