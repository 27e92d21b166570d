"""Finds the records of a block that matter: by Hyperscan, or by an RE2 set where there is none."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Sequence
from typing import Protocol

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
    patterns: Sequence[str], blobs: Blobs | None = None, *, uses_hyperscan: bool = True
) -> Scanner:
    """The fastest scanner that this machine has; compiled patterns are kept in `blobs`."""
    if uses_hyperscan and patterns:
        with contextlib.suppress(HyperscanMissingError, ValueError):
            coarse = _database(patterns, "coarse", blobs)
            return TwoPassScanner(coarse, lambda: _database(patterns, "for_blocks", blobs))
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
    # The database is looked up before any pattern is read: reading hundreds takes its time.
    digest = hashlib.sha256("\0".join(patterns).encode()).hexdigest()[:32]
    name = f"patterns-{kind}-{FORM}-{digest}"
    stored = blobs.get(name) if blobs else None
    if stored is not None and (loaded := load_hyperscan(stored)) is not None:
        return loaded
    scanner = compile_hyperscan([getattr(Expression(p), kind) for p in patterns])
    if blobs:
        blobs.put(name, store_hyperscan(scanner))
    return scanner


def _boundary(block: bytes, start: int, end: int) -> int | None:
    """The start of a record inside (start, end), near the middle; None when there is none."""
    middle = (start + end) // 2
    later = [at + 1 for mark in (b"\n", b"\r") if (at := block.find(mark, middle, end - 1)) >= 0]
    if later:
        return min(later)
    earlier = [at + 1 for mark in (b"\n", b"\r") if (at := block.rfind(mark, start, middle)) >= 0]
    return max(earlier, default=None)
