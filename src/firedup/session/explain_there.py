"""The post-mortem of a log on a host, read over the link without being kept."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from firedup.core.error import UsageError
from firedup.core.event import Ended, LogData
from firedup.core.log.sniff import name_problem
from firedup.core.model import Explanation
from firedup.core.rule import Matcher
from firedup.host.base import OperationError
from firedup.host.file import FileFacts, open_file, read_file, stat_file
from firedup.host.frame import Data
from firedup.host.link import Agent
from firedup.profile.pipeline import Pipeline
from firedup.session.explain import LOOK, Looking, look_again, wanted_spans
from firedup.session.path import path_on, suspect_home

HEAD_BYTES = 4096
# What the link brings in small pieces is searched in larger ones, which costs less.
BLOCK_BYTES = 1 << 18


async def explain_log(
    agent: Agent,
    path: str,
    *,
    matcher: Matcher,
    engine: str | None = None,
    looking: Looking = LOOK,
) -> Explanation:
    """Explain the log at `path` on the agent's host, read over the link to its present end.

    No more of it than a window of the link is held here, whatever its size. Raises UsageError when
    it cannot be read, HostError when the link is lost.
    """
    place = path_on(agent, path)
    facts = await stat_file(agent, place)
    if facts is None or facts.kind != "file":
        raise _refuse(agent, path, place, facts)
    year = datetime.fromtimestamp(facts.modified_wall_ns / 10**9, UTC).year
    pipeline = Pipeline(matcher, year=year, engine=engine, counts_lines=True)
    head, offset = b"", 0
    try:
        async for block in _blocks_of(agent, place, facts.size):
            head = head or block[:HEAD_BYTES]
            pipeline.feed(LogData(0, 0, offset, block))
            offset += len(block)
    except OperationError as error:
        raise UsageError(f"{agent.host.name}:{place} cannot be read", why=error.what) from error
    pipeline.feed(Ended(0, reason=name_problem(head)))
    explanation = pipeline.snapshot().explanation
    pieces: dict[tuple[int, int], bytes] = {}
    for at, length in wanted_spans(explanation, offset, looking):
        pieces[at, length] = await read_file(agent, place, offset=at, length=length)
    return look_again(explanation, offset, lambda at, length: pieces[at, length], looking)


async def _blocks_of(agent: Agent, path: str, size: int) -> AsyncIterator[bytes]:
    pieces: list[bytes] = []
    held = 0
    with closing(open_file(agent, path, length=size)) as stream:
        async for piece in stream:
            if isinstance(piece, Data):
                pieces.append(piece.data)
                held += len(piece.data)
            if held >= BLOCK_BYTES:
                yield b"".join(pieces)
                pieces, held = [], 0
    if pieces:
        yield b"".join(pieces)


def _refuse(agent: Agent, path: str, place: str, facts: FileFacts | None) -> UsageError:
    """Why there is no log at `place`; a ~ that the shell here has replaced is the usual reason."""
    if facts is not None:
        what = "a directory" if facts.kind == "folder" else "no regular file"
        return UsageError(f"{agent.host.name}:{place} is {what}, not a log")
    todo = f"firedup explain {path} reads it on this machine."
    if (quoted := suspect_home(agent, path)) is not None:
        todo = f"Your shell puts the home of this machine for ~. Quote it: {quoted}"
    elif not Path(path).is_file():
        todo = "Give the path of a log file on that host; relative ones begin at the home there."
    return UsageError(f"there is no log at {agent.host.name}:{place}", todo=todo)
