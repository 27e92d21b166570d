"""Finds the records of a block that matter: by Hyperscan, or by an RE2 set where there is none."""

from __future__ import annotations

import contextlib
import hashlib
from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Protocol

from firedup.profile.piece import as_pieces
from firedup.profile.regex import (
    Expression,
    HyperscanMissingError,
    HyperscanScanner,
    compile_hyperscan,
    load_hyperscan,
    search_set,
    store_hyperscan,
)

FORM = 2  # of the stored databases; count up when Expression rewrites patterns otherwise

# So many finds per KiB of block are cheaper to look at than a second, exact pass over the block.
_CHEAP_PER_KIB = 1 / 8
_ALWAYS_CHEAP = 16
# Where pieces are more frequent than this, the whole block is worth a closer look.
_BYTES_PER_PIECE = 1024
_ALWAYS_FEW = 16
# From so many lines on, the patterns themselves are worth loading: they leave fewer candidates.
_MANY_LINES = 256


class Blobs(Protocol):
    """A place for compiled patterns, such as `firedup.profile.cache.Cache`."""

    def get(self, name: str) -> bytes | None:
        """What was put under `name`, None when absent."""

    def put(self, name: str, body: bytes) -> None:
        """Keeps `body`, or not."""


class Scanner(Protocol):
    """Finds the records of a block that matter."""

    def scan(self, block: bytes) -> list[int]:
        """Ascending positions, at least one in each record that any pattern matches."""


class Databases:
    """What Hyperscan makes of a list of patterns, each form when it is first needed.

    Their members raise HyperscanMissingError, or ValueError where Hyperscan refuses a pattern.
    """

    def __init__(self, patterns: Sequence[str], blobs: Blobs | None) -> None:
        self._patterns = patterns
        self._blobs = blobs

    @cached_property
    def coarse(self) -> HyperscanScanner:
        """The fixed texts of the patterns: needs no warming up, as an automaton does."""
        return self._kept("coarse", (), lambda: [Expression(p).coarse for p in self._patterns])

    @cached_property
    def exact(self) -> HyperscanScanner:
        """The patterns themselves; `coarse` where one is refused, since more finds do no harm."""
        try:
            return self._kept(
                "for_blocks", (), lambda: [Expression(p).for_blocks for p in self._patterns]
            )
        except ValueError:
            return self.coarse

    def pieces(self, usual: Sequence[str]) -> HyperscanScanner:
        """A few short texts of which each match holds one, and of which `usual` lines hold none."""
        return self._kept("pieces", usual, lambda: as_pieces(self._patterns, usual))

    def _kept(
        self, kind: str, usual: Sequence[str], rewrite: Callable[[], list[bytes]]
    ) -> HyperscanScanner:
        # The database is looked up before any pattern is read: reading hundreds takes its time.
        digest = hashlib.sha256("\0".join([*self._patterns, *usual]).encode()).hexdigest()[:32]
        name = f"patterns-{kind}-{FORM}-{digest}"
        stored = self._blobs.get(name) if self._blobs else None
        if stored is not None and (loaded := load_hyperscan(stored)) is not None:
            return loaded
        scanner = compile_hyperscan(rewrite())
        if self._blobs:
            self._blobs.put(name, store_hyperscan(scanner))
        return scanner


class TwoPassScanner:
    """Looks for the fixed texts of all patterns, and for the patterns where those are common."""

    def __init__(self, databases: Databases) -> None:
        self._coarse = databases.coarse
        self._databases = databases

    def scan(self, block: bytes) -> list[int]:
        """Positions as Scanner promises."""
        limit = _ALWAYS_CHEAP + int(len(block) / 1024 * _CHEAP_PER_KIB)
        found = self._coarse.scan(block, limit)
        return self._databases.exact.scan(block) or [] if found is None else found


class PieceScanner:
    """Looks for a few short pieces first, and closer at the records that hold one of them."""

    def __init__(self, pieces: HyperscanScanner, closer: Scanner) -> None:
        self._pieces = pieces
        self._closer = closer

    def scan(self, block: bytes) -> list[int]:
        """Positions as Scanner promises."""
        found = self._pieces.scan(block, _ALWAYS_FEW + len(block) // _BYTES_PER_PIECE)
        if found is None:
            return self._closer.scan(block)
        if not found:
            return found
        starts, lengths, records = [], [0], []
        end = 0
        for at in found:
            if at >= end:
                start, end = _record_around(block, at)
                starts.append(start)
                records.append(block[start:end])
                lengths.append(lengths[-1] + end - start)
        positions = []
        for at in self._closer.scan(b"".join(records)):
            index = bisect_right(lengths, at) - 1
            positions.append(starts[index] + at - lengths[index])
        return positions


class SetScanner:
    """The scan without Hyperscan: an RE2 set over the block, halved until records are left."""

    def __init__(self, expressions: Sequence[Expression]) -> None:
        self._set = search_set([b"(?m)" + e.for_blocks for e in expressions])

    def scan(self, block: bytes) -> list[int]:
        """The start of each matching record (a piece ended by LF, CR LF or CR)."""
        found: list[int] = []
        pending = [(0, len(block))] if block else []
        while pending:
            start, end = pending.pop()
            if not self._set.Match(block[start:end]):
                continue
            middle = _boundary(block, start, end)
            if middle is None:
                found.append(start)
            else:
                pending += [(middle, end), (start, middle)]
        return found


class LineFilter(Protocol):
    """Says which patterns a line may meet."""

    def candidates(self, line: bytes) -> Sequence[int]:
        """Numbers of patterns, ascending: all that the line meets, perhaps more."""


class DatabaseFilter:
    """Candidates by the fixed texts of the patterns, and by the patterns once lines are many."""

    def __init__(self, databases: Databases) -> None:
        self._databases = databases
        self._asked = 0

    def candidates(self, line: bytes) -> Sequence[int]:
        """Numbers as LineFilter promises."""
        self._asked += 1
        are_many = self._asked > _MANY_LINES
        return (self._databases.exact if are_many else self._databases.coarse).candidates(line)


class SetFilter:
    """Candidates by an RE2 set."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._set = search_set([pattern.encode() for pattern in patterns])

    def candidates(self, line: bytes) -> Sequence[int]:
        """Numbers as LineFilter promises."""
        return sorted(self._set.Match(line) or ())


def make_search(
    patterns: Sequence[str],
    blobs: Blobs | None = None,
    *,
    usual: Sequence[str] = (),
    uses_hyperscan: bool = True,
) -> tuple[Scanner, LineFilter]:
    """The fastest search for `patterns` that this machine has, in blocks and in single lines.

    Compiled patterns are kept in `blobs`. `usual` are lines that logs are full of; only the speed
    depends on them.
    """
    if uses_hyperscan and patterns:
        with contextlib.suppress(HyperscanMissingError, ValueError):
            databases = Databases(patterns, blobs)
            pieces = PieceScanner(databases.pieces(usual), TwoPassScanner(databases))
            return pieces, DatabaseFilter(databases)
    return SetScanner([Expression(pattern) for pattern in patterns]), SetFilter(patterns)


def make_filter(
    patterns: Sequence[str], blobs: Blobs | None = None, *, uses_hyperscan: bool = True
) -> LineFilter:
    """The fastest filter by the patterns themselves; what is compiled is kept in `blobs`."""
    if uses_hyperscan and patterns:
        with contextlib.suppress(HyperscanMissingError, ValueError):
            return Databases(patterns, blobs).exact
    return SetFilter(patterns)


def _record_around(block: bytes, position: int) -> tuple[int, int]:
    """Where the record that holds `position` begins, and where the next one does."""
    lf = block.rfind(b"\n", 0, position) + 1
    start = max(lf, block.rfind(b"\r", lf, position) + 1)
    lf = block.find(b"\n", position)
    end = lf + 1 if lf >= 0 else len(block)
    cr = block.find(b"\r", position, end)
    return start, cr + 1 if cr >= 0 else end


def _boundary(block: bytes, start: int, end: int) -> int | None:
    """The start of a record inside (start, end), near the middle; None when there is none."""
    middle = (start + end) // 2
    later = [at + 1 for mark in (b"\n", b"\r") if (at := block.find(mark, middle, end - 1)) >= 0]
    if later:
        return min(later)
    earlier = [at + 1 for mark in (b"\n", b"\r") if (at := block.rfind(mark, start, middle)) >= 0]
    return max(earlier, default=None)
