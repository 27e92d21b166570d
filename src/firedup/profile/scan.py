"""Finds the records of a block that matter: by Hyperscan, or by an RE2 set where there is none."""

from __future__ import annotations

import contextlib
import hashlib
from bisect import bisect_right
from collections.abc import Callable, Sequence
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


class TwoPassScanner:
    """Looks for the fixed texts of all patterns, and for the patterns where those are common."""

    def __init__(
        self, coarse: HyperscanScanner, make_exact: Callable[[], HyperscanScanner]
    ) -> None:
        self._coarse = coarse
        self._make_exact = make_exact
        self._exact: HyperscanScanner | None = None

    def scan(self, block: bytes) -> list[int]:
        """Positions as Scanner promises."""
        limit = _ALWAYS_CHEAP + int(len(block) / 1024 * _CHEAP_PER_KIB)
        found = self._coarse.scan(block, limit)
        return self._exactly().scan(block) or [] if found is None else found

    def _exactly(self) -> HyperscanScanner:
        if self._exact is None:
            try:
                self._exact = self._make_exact()
            except ValueError:  # a pattern it refuses: more finds than needed are no harm
                self._exact = self._coarse
        return self._exact


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


class CoarseFilter:
    """Candidates by the fixed texts of the patterns; needs no warming up, as an automaton does."""

    def __init__(self, coarse: HyperscanScanner) -> None:
        self._coarse = coarse

    def candidates(self, line: bytes) -> Sequence[int]:
        """Numbers as LineFilter promises."""
        return self._coarse.ids(line)


class SetFilter:
    """Candidates by an RE2 set."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._set = search_set([pattern.encode() for pattern in patterns])

    def candidates(self, line: bytes) -> Sequence[int]:
        """Numbers as LineFilter promises."""
        return sorted(self._set.Match(line) or ())


def make_scanner(
    patterns: Sequence[str],
    blobs: Blobs | None = None,
    *,
    usual: Sequence[str] = (),
    uses_hyperscan: bool = True,
) -> Scanner:
    """The fastest scanner that this machine has; compiled patterns are kept in `blobs`.

    `usual` are lines that logs are full of; only the speed depends on them.
    """
    if uses_hyperscan and patterns:
        with contextlib.suppress(HyperscanMissingError, ValueError):
            coarse = _database(patterns, "coarse", blobs)
            closer = TwoPassScanner(coarse, lambda: _database(patterns, "for_blocks", blobs))
            return PieceScanner(_pieces(patterns, usual, blobs), closer)
    return SetScanner([Expression(pattern) for pattern in patterns])


def make_filter(
    patterns: Sequence[str], blobs: Blobs | None = None, *, uses_hyperscan: bool = True
) -> LineFilter:
    """The fastest filter that this machine has; compiled patterns are kept in `blobs`."""
    if uses_hyperscan and patterns:
        with contextlib.suppress(HyperscanMissingError, ValueError):
            return CoarseFilter(_database(patterns, "coarse", blobs))
    return SetFilter(patterns)


def _database(patterns: Sequence[str], kind: str, blobs: Blobs | None) -> HyperscanScanner:
    """Raises HyperscanMissingError, or ValueError for a pattern that is too large for it."""
    return _kept(kind, patterns, blobs, lambda: [getattr(Expression(p), kind) for p in patterns])


def _pieces(patterns: Sequence[str], usual: Sequence[str], blobs: Blobs | None) -> HyperscanScanner:
    """As `_database` does."""
    return _kept("pieces", [*patterns, *usual], blobs, lambda: as_pieces(patterns, usual))


def _kept(
    kind: str, texts: Sequence[str], blobs: Blobs | None, rewrite: Callable[[], list[bytes]]
) -> HyperscanScanner:
    # The database is looked up before any pattern is read: reading hundreds takes its time.
    digest = hashlib.sha256("\0".join(texts).encode()).hexdigest()[:32]
    name = f"patterns-{kind}-{FORM}-{digest}"
    stored = blobs.get(name) if blobs else None
    if stored is not None and (loaded := load_hyperscan(stored)) is not None:
        return loaded
    scanner = compile_hyperscan(rewrite())
    if blobs:
        blobs.put(name, store_hyperscan(scanner))
    return scanner


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
