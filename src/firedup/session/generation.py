"""Which files a log was one after the other, from what sessions recorded and the keeper sampled."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from firedup.core.event import Event, LogChanged, Sample
from firedup.host.logfile import MARK_BYTES, LogFile
from firedup.store.event import LogRange

Identity = tuple[int, int]  # device and inode
# More than any rotator makes while a server runs. What a file says beyond that is damaged.
MAX_GENERATIONS = 65_536


@dataclass(frozen=True, slots=True)
class Mark:
    """The log ended at `offset` then; `tail` is the CRC-32 of the 256 bytes before it."""

    offset: int
    at_ns: int
    tail: int | None = None


@dataclass(frozen=True, slots=True)
class Generation:
    """One file that the log was, or what it held between two truncations.

    `state` says how it came: "opened", "rotated", "truncated". `head` is the CRC-32 of its first
    256 bytes, once it had them. `seen` are the wall-clock times of the first and the last sample
    of it. `is_recorded`: a session told events.jsonl of it, and if `is_named` which file it is.
    """

    number: int
    state: str
    at_ns: int
    identity: Identity | None = None
    head: int | None = None
    marks: tuple[Mark, ...] = ()
    seen: tuple[int, int] | None = None
    is_recorded: bool = False
    is_named: bool = False
    has_gap: bool = False  # bytes that came after it were destroyed, it is not known how many

    @property
    def end(self) -> int:
        """The largest offset that anybody saw in it."""
        return max((mark.offset for mark in self.marks), default=0)

    @property
    def proofs(self) -> tuple[Mark, ...]:
        """Marks with a tail, the last first: a file that has one of them held this generation."""
        found = [mark for mark in self.marks if mark.tail is not None and mark.offset > 0]
        return tuple(sorted(found, key=lambda mark: -mark.offset))


def list_generations(
    events: Iterable[Event | LogRange], samples: Iterable[Sample], files: Iterable[LogFile] = ()
) -> tuple[Generation, ...]:
    """The generations in order, numbered as sessions numbered them; always at least one.

    Files that were sampled after all that was recorded get the numbers that come next. A file that
    was sampled between two that sessions recorded, and that they did not see, is a gap. `files`
    are those that are left, where it is known: what they hold shows which one a sample saw.
    """
    found = _read_recorded(events)
    at, last = 0, -1  # the generation of the link before, and the last link that has one
    links, identity = _read_samples(samples)
    tails = {file.identity: file.tails for file in files}
    if not links and found[-1].identity is None:
        found[-1].identity = identity  # it is there, and empty
    numbers: list[int | None] = []
    for index, link in enumerate(links):
        numbers.append(_find(found, at, links[index:], tails))
        if (number := numbers[-1]) is not None:
            at, last = number, index
            found[number].join(link)
    for index, link in enumerate(links):
        if index > last:
            is_same = link.identity == found[-1].identity and link.identity is not None
            link.state = "truncated" if is_same else "rotated"
            found.append(link)
        elif numbers[index] is None:
            before = max((n for n in numbers[:index] if n is not None), default=0)
            found[before].has_gap = True
    return tuple(draft.finish(number) for number, draft in enumerate(found))


@dataclass(slots=True)
class _Draft:
    """A generation while it is put together."""

    state: str
    at_ns: int
    identity: Identity | None = None
    head: int | None = None
    marks: list[Mark] = field(default_factory=list)
    seen: tuple[int, int] | None = None
    is_recorded: bool = False
    is_named: bool = False
    has_gap: bool = False
    turn: int | None = None

    def join(self, link: _Draft) -> None:
        self.identity = self.identity or link.identity
        self.head, self.seen = link.head, link.seen
        self.marks += link.marks

    def finish(self, number: int) -> Generation:
        marks = tuple(sorted(self.marks, key=lambda mark: (mark.offset, mark.at_ns)))
        return Generation(
            number,
            self.state,
            self.at_ns,
            self.identity,
            self.head,
            marks,
            self.seen,
            self.is_recorded,
            self.is_named,
            self.has_gap,
        )


def _find(
    found: Sequence[_Draft],
    at: int,
    links: Sequence[_Draft],
    tails: Mapping[Identity, Mapping[int, int]],
) -> int | None:
    """The generation from `at` on that the first link shows; each is shown by one at most.

    A session that came after a log was copied and truncated has read the copy, and recorded that
    file's identity, while the samples name the log.
    """
    link = links[0]
    free = [
        number
        for number in range(at, len(found))
        if found[number].seen is None
        and (number + 1 == len(found) or link.at_ns < found[number + 1].at_ns)
    ]
    own = [n for n in free if found[n].identity in (None, link.identity)]
    proofs = {(mark.offset, mark.tail) for mark in link.marks if mark.tail is not None}
    sampled = {one.identity for one in links}
    copies = [n for n in free if found[n].identity not in sampled and n not in own]
    proved = [n for n in copies if proofs & _places(found[n], tails)]
    if proved:
        return proved[0]
    is_copied = sum(one.identity == link.identity for one in links) > len(own)
    if is_copied and own and copies and copies[0] < own[0]:
        return copies[0]
    return own[0] if own else None


def _places(
    one: _Draft, tails: Mapping[Identity, Mapping[int, int]]
) -> set[tuple[int, int | None]]:
    """Offsets and what stands before them, as was recorded and as its file has it now."""
    own = tails.get(one.identity, {}) if one.identity is not None else {}
    return {(mark.offset, mark.tail) for mark in one.marks} | set(own.items())


def _read_recorded(events: Iterable[Event | LogRange]) -> list[_Draft]:
    found = [_Draft("opened", 0, is_recorded=True)]
    for event in events:
        if not isinstance(event, LogChanged | LogRange):
            continue
        if not 0 <= event.generation < MAX_GENERATIONS:
            continue
        while len(found) <= event.generation:
            found.append(_Draft("rotated", event.at_ns, is_recorded=True))
        one = found[event.generation]
        if isinstance(event, LogRange):
            one.marks.append(Mark(event.offset + event.length, event.at_ns))
        elif event.state == "gap":
            if event.lost_bytes is None:
                one.has_gap = True
            else:
                end = max((mark.offset for mark in one.marks), default=0)
                one.marks.append(Mark(end + event.lost_bytes, event.at_ns))
        elif event.state != "missing" and one.identity is None:
            if event.state in ("rotated", "truncated"):
                one.state, one.at_ns = event.state, event.at_ns
                if event.end is not None:
                    before = found[event.generation - 1]
                    before.marks.append(Mark(event.end, event.at_ns, event.tail))
            if event.dev is not None and event.ino is not None:
                one.identity, one.is_named = (event.dev, event.ino), True
    return found


def _read_samples(samples: Iterable[Sample]) -> tuple[list[_Draft], Identity | None]:
    """One for each file with content that samples show, anew after each truncation.

    And the file that the log is now, with content or without.
    """
    found: list[_Draft] = []
    identity: Identity | None = None
    was_cut = False  # it has been empty since
    empty: _Draft | None = None  # the file that it is now, which never had anything yet
    for sample in samples:
        if sample.log_size < 0:
            continue
        if sample.log_dev is not None and sample.log_ino is not None:
            identity = (sample.log_dev, sample.log_ino)
        last = found[-1] if found else None
        if empty is not None and empty.identity != identity:
            # It may have got something before it was moved away.
            found.append(empty)
            last, was_cut = empty, False
        empty = None
        if sample.log_size == 0:
            if identity is not None and (last is None or last.identity != identity):
                empty = _Draft("rotated", sample.at_ns, identity)
            was_cut = was_cut or (last is not None and last.identity == identity)
            continue
        if last is None or was_cut or _is_other(last, sample, identity):
            last = _Draft("rotated", sample.at_ns, identity)
            found.append(last)
        _add(last, sample)
        was_cut = False
    return found, identity


def _is_other(last: _Draft, sample: Sample, identity: Identity | None) -> bool:
    if None not in (last.turn, sample.log_turn):
        return last.turn != sample.log_turn
    if identity != last.identity or (last.marks and sample.log_size < last.marks[-1].offset):
        return True
    return last.head is not None and sample.log_head not in (None, last.head)


def _add(one: _Draft, sample: Sample) -> None:
    if sample.log_size >= MARK_BYTES:
        one.head = one.head or sample.log_head
    one.turn = sample.log_turn
    one.seen = (one.seen[0] if one.seen else sample.wall_ns, sample.wall_ns)
    if not one.marks or one.marks[-1].offset < sample.log_size:
        one.marks.append(Mark(sample.log_size, sample.at_ns, sample.log_tail))
