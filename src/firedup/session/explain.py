"""The post-mortem of a log file or stream: bytes in, explanation out."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from firedup.core.block import OPENERS
from firedup.core.error import UsageError
from firedup.core.event import Ended, LogData
from firedup.core.model import Explanation
from firedup.core.numbering import count_lines, shown_offsets, with_numbers
from firedup.core.rule import Matcher
from firedup.core.sniff import name_problem
from firedup.profile.cache import Cache
from firedup.profile.load import load_catalogue
from firedup.profile.match import build_matcher
from firedup.profile.pipeline import Pipeline
from firedup.session.heed import signals_heeded

# Large enough that the cost per block vanishes, small enough for the processor's cache.
BLOCK_BYTES = 1 << 19
HEAD_BYTES = 4096


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
) -> Explanation:
    """Read `stream` to its end and say what it tells.

    A file that grows meanwhile is read up to where its end was first met. `year` completes time
    stamps without one; None means the present year. `wait` is called before each read.
    """
    can_count_later = stream.seekable()
    pipeline = Pipeline(
        matcher,
        year=year or datetime.now(UTC).year,
        engine=engine,
        counts_lines=not can_count_later,
    )
    offset, head = 0, b""
    for block in _blocks(stream, wait):
        head = head or block[:HEAD_BYTES]
        pipeline.feed(LogData(0, 0, offset, block))
        offset += len(block)
    pipeline.feed(Ended(0, reason=name_problem(head)))
    explanation = pipeline.snapshot().explanation
    if can_count_later and (offsets := shown_offsets(explanation)):
        stream.seek(0)
        explanation = with_numbers(explanation, count_lines(_blocks(stream), offsets))
    return explanation


def _blocks(stream: BinaryIO, wait: Callable[[], None] | None = None) -> Iterator[bytes]:
    while True:
        if wait is not None:
            wait()
        if not (block := stream.read(BLOCK_BYTES)):
            return
        yield block


def explain_path(path: str, *, matcher: Matcher, engine: str | None = None) -> Explanation:
    """Explain the log at `path` ("-": standard input); UsageError when it cannot be read."""
    if path == "-":
        with signals_heeded(sys.stdin.buffer) as wait:
            return explain_stream(sys.stdin.buffer, matcher=matcher, engine=engine, wait=wait)
    try:
        facts = Path(path).stat()
        if stat.S_ISDIR(facts.st_mode):
            raise UsageError(
                f"{path} is a directory, not a log",
                todo=f"Name the file: firedup explain {path.rstrip('/')}/server.log",
            )
        year = datetime.fromtimestamp(facts.st_mtime, UTC).year
        with Path(path).open("rb", buffering=0) as stream:
            if stat.S_ISREG(facts.st_mode):
                return explain_stream(stream, matcher=matcher, engine=engine, year=year)
            with signals_heeded(stream) as wait:
                return explain_stream(stream, matcher=matcher, engine=engine, year=year, wait=wait)
    except FileNotFoundError as error:
        raise UsageError(
            f"there is no log at {path}",
            todo="Give the path of a log file, or - to read standard input.",
        ) from error
    except PermissionError as error:
        raise UsageError(f"{path} may not be read by this user", why=str(error)) from error
    except OSError as error:
        raise UsageError(f"{path} cannot be read", why=error.strerror or str(error)) from error
