"""The post-mortem of a log file or stream: bytes in, explanation out."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from firedup.core.error import UsageError
from firedup.core.event import Ended, LogData
from firedup.core.log.block import OPENERS
from firedup.core.log.context import (
    LINE_CHARS,
    SIDE_BYTES,
    Recent,
    last_lines,
    wanted_span,
    with_context,
)
from firedup.core.log.numbering import count_lines, shown_offsets, with_numbers
from firedup.core.log.order import (
    LIMIT_BYTES,
    NOTE,
    TOO_LONG,
    is_newest_first,
    turn_round,
    turned_back,
)
from firedup.core.log.sniff import name_problem
from firedup.core.model import Explanation
from firedup.core.rule import Matcher
from firedup.profile.cache import Cache
from firedup.profile.load import load_catalogue
from firedup.profile.match import build_matcher
from firedup.profile.pipeline import Pipeline
from firedup.session.heed import signals_heeded

# Large enough that the cost per block vanishes, small enough for the processor's cache.
BLOCK_BYTES = 1 << 19
SNIFFED_BYTES = 4096
# At the end of a log, to tell whether its lines will have to be counted.
END_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class Looking:
    """How much of a log is to be seen: lines on each side of the cause, and of its end."""

    context: int = 2
    tail: int = 0


LOOK = Looking()


def load_matcher(files: Sequence[Path] = ()) -> Matcher:
    """The matcher over the whole catalogue (all engines), compiled patterns cached."""
    cache = Cache.of_user(os.environ)
    return build_matcher(load_catalogue(files, cache=cache), openers=OPENERS, blobs=cache)


def explain_stream(
    stream: BinaryIO,
    *,
    matcher: Matcher,
    engine: str | None = None,
    year: int | None = None,
    wait: Callable[[], None] | None = None,
    looking: Looking = LOOK,
) -> Explanation:
    """Read `stream` to its end and say what it tells.

    A file that grows meanwhile is read up to where its end was first met. `year` completes time
    stamps without one; None means the present year. `wait` is called before each read.
    """
    blocks = _blocks(stream, wait)
    first = next(blocks, b"")
    if not is_newest_first(first):
        return _explain_in_order(stream, chain([first], blocks), matcher, engine, year, looking)
    pieces, size = [first], len(first)
    for block in blocks:
        pieces.append(block)
        size += len(block)
        if size > LIMIT_BYTES:
            whole = chain(pieces, blocks)
            explanation = _explain_in_order(stream, whole, matcher, engine, year, looking)
            return replace(explanation, notes=(*explanation.notes, TOO_LONG))
    log = b"".join(pieces)
    turned = turn_round(log)
    explanation = _explain_in_order(
        BytesIO(turned.data), iter([turned.data]), matcher, engine, year, looking
    )
    explanation = turned_back(explanation, turned, log)
    return replace(explanation, notes=(*explanation.notes, NOTE))


def _explain_in_order(
    stream: BinaryIO,
    blocks: Iterator[bytes],
    matcher: Matcher,
    engine: str | None,
    year: int | None,
    looking: Looking,
) -> Explanation:
    """Explain what `blocks` hold; `stream`, whose bytes they are, is looked at again if it can.

    Counting lines is cheaper at the first reading than at a second one, and most logs of living
    servers need neither.
    """
    can_look_again = stream.seekable()
    recent = None if can_look_again else Recent()
    counts_lines = not can_look_again or _ends_in_trouble(stream, matcher)
    pipeline = Pipeline(
        matcher,
        year=year or datetime.now(UTC).year,
        engine=engine,
        counts_lines=counts_lines,
    )
    offset, head = 0, b""
    for block in blocks:
        head = head or block[:SNIFFED_BYTES]
        pipeline.feed(LogData(0, 0, offset, block))
        offset += len(block)
        if recent is not None:
            recent.feed(block)
    pipeline.feed(Ended(0, reason=name_problem(head)))
    explanation = pipeline.snapshot().explanation
    if not counts_lines and (offsets := shown_offsets(explanation)):
        stream.seek(0)
        explanation = with_numbers(explanation, count_lines(_blocks(stream), offsets))

    def read(at: int, length: int) -> bytes:
        if recent is not None:
            return recent.read(at, length)
        stream.seek(at)
        return stream.read(length)

    return look_again(explanation, offset, read, looking)


def _ends_in_trouble(stream: BinaryIO, matcher: Matcher) -> bool:
    """Whether anything near the end of `stream` is known to a rule; the place stays the same."""
    place = stream.tell()
    stream.seek(max(0, stream.seek(0, os.SEEK_END) - END_BYTES))
    end = stream.read(END_BYTES)
    stream.seek(place)
    return bool(matcher.scan(end))


def wanted_spans(
    explanation: Explanation, size: int, looking: Looking
) -> Iterator[tuple[int, int]]:
    """(offset, length) of the pieces of a log of `size` bytes that `look_again` will read."""
    if looking.context and (span := wanted_span(explanation)) is not None:
        yield span
    if looking.tail:
        yield _tail_span(size, looking)


def look_again(
    explanation: Explanation, size: int, read: Callable[[int, int], bytes], looking: Looking
) -> Explanation:
    """`explanation` with what `looking` asks for; `read` takes offset and length."""
    if looking.context and (span := wanted_span(explanation)) is not None:
        explanation = with_context(explanation, read(*span), looking.context)
    if looking.tail:
        start, length = _tail_span(size, looking)
        tail = last_lines(read(start, length), looking.tail, is_whole=start == 0)
        explanation = replace(explanation, tail=tail)
    return explanation


def _tail_span(size: int, looking: Looking) -> tuple[int, int]:
    start = max(0, size - SIDE_BYTES - looking.tail * LINE_CHARS)
    return start, size - start


def _blocks(stream: BinaryIO, wait: Callable[[], None] | None = None) -> Iterator[bytes]:
    while True:
        if wait is not None:
            wait()
        if not (block := stream.read(BLOCK_BYTES)):
            return
        yield block


def explain_path(
    path: str,
    *,
    matcher: Matcher,
    engine: str | None = None,
    looking: Looking = LOOK,
) -> Explanation:
    """Explain the log at `path` ("-": standard input); UsageError when it cannot be read."""
    if path == "-":
        with signals_heeded(sys.stdin.buffer) as wait:
            stream: BinaryIO = sys.stdin.buffer
            return explain_stream(
                stream, matcher=matcher, engine=engine, wait=wait, looking=looking
            )
    try:
        facts = Path(path).stat()
        if stat.S_ISDIR(facts.st_mode):
            raise UsageError(
                f"{path} is a directory, not a log",
                todo=f"Name the file: firedup explain {path.rstrip('/')}/server.log",
            )
        year = datetime.fromtimestamp(facts.st_mtime, UTC).year
        with Path(path).open("rb", buffering=0) as stream:
            is_regular = stat.S_ISREG(facts.st_mode)
            with nullcontext() if is_regular else signals_heeded(stream) as wait:
                return explain_stream(
                    stream, matcher=matcher, engine=engine, year=year, wait=wait, looking=looking
                )
    except FileNotFoundError as error:
        raise UsageError(
            f"there is no log at {path}",
            todo="Give the path of a log file, or - to read standard input.",
        ) from error
    except PermissionError as error:
        raise UsageError(f"{path} may not be read by this user", why=str(error)) from error
    except OSError as error:
        raise UsageError(f"{path} cannot be read", why=error.strerror or str(error)) from error
