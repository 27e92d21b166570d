"""A run's log as raw bytes: the whole, the last lines, or everything new."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing, closing
from dataclasses import dataclass, field

from firedup.core.event import LogData
from firedup.host.file import LogPosition, Silence, follow_log
from firedup.host.link import Agent
from firedup.session.history import LastBytes, load_volumes, position_after, read_volume
from firedup.session.linked import LinkSpeaker, Patience, give_up, run_linked
from firedup.session.registry import Run
from firedup.session.trail import Volume

_TAIL_BLOCK_BYTES = 1 << 16


@dataclass(slots=True)
class Bookmark:
    """How far a log was read: generation and offset, or `position` once it is followed."""

    place: tuple[int, int] | None = None
    position: LogPosition | None = None
    read: LastBytes = field(default_factory=LastBytes)


async def copy_log(
    agent: Agent,
    run: Run,
    write: Callable[[bytes], None],
    *,
    last_lines: int | None = None,
    follow: bool = False,
    say: Callable[[str], None],
    say_lost: Callable[[int | None], None],
    patience: Patience | None = None,
) -> None:
    """Give `write` what `read_log` gives, over one link after the other, each byte once.

    `say` is told what becomes of the link, and of a log that does not answer. Raises LinkError when
    the host was given up.
    """
    mark, patience = Bookmark(), patience or Patience()

    async def work(agent: Agent) -> None:
        pieces = read_log(
            agent,
            run,
            last_lines=last_lines,
            follow=follow,
            say_lost=say_lost,
            mark=mark,
            heed=lambda silence: say(str(silence)),
        )
        async with aclosing(pieces) as stream:
            async for data in stream:
                write(data)

    if not await run_linked(agent, work, LinkSpeaker(say), patience):
        raise give_up(agent, patience)


async def read_log(
    agent: Agent,
    run: Run,
    *,
    last_lines: int | None = None,
    follow: bool = False,
    say_lost: Callable[[int | None], None] | None = None,
    mark: Bookmark | None = None,
    heed: Callable[[Silence], None] = lambda _: None,
) -> AsyncGenerator[bytes, None]:
    """The bytes of the run's log, exactly as written; with `follow` for as long as it lives.

    What a rotator moved away or copied is given too, and `say_lost` is called where it destroyed
    bytes, with their number if that is known. `last_lines` leaves out all but the last lines, None
    gives everything. What other runs wrote into the same file is not given. `mark` is kept up to
    date; with one that was used before, this goes on where that reading ended. `heed` is told when
    the log does not answer.
    """
    tell, mark = say_lost or (lambda _: None), mark or Bookmark()
    if mark.position is None:
        past = _read_past(agent, run, mark, last_lines, tell, follow=follow)
        async with aclosing(past) as pieces:
            async for data in pieces:
                yield data
    if mark.position is not None:
        with closing(follow_log(agent, run.log, mark.position, heed=heed)) as reader:
            async for event in reader:
                mark.position = reader.position
                if isinstance(event, LogData):
                    yield event.data
                elif event.state == "gap":
                    tell(event.lost_bytes)


async def _read_past(
    agent: Agent,
    run: Run,
    mark: Bookmark,
    last_lines: int | None,
    tell: Callable[[int | None], None],
    *,
    follow: bool,
) -> AsyncGenerator[bytes, None]:
    """What was written until now. With `follow` the mark's position is then set."""
    pid = run.state.server.pid if run.state.server else None
    volumes = await load_volumes(agent, run.folder, run.log, run.state.log_start, pid=pid)
    if mark.place is None:
        mark.place = (0, volumes[0].start)
        if last_lines is not None:
            mark.place = await _start_of_tail(agent, run.log, volumes, last_lines, pid)
    for number, volume in enumerate(volumes):
        if number < mark.place[0]:
            continue
        is_last = number == len(volumes) - 1
        offset = mark.place[1] if number == mark.place[0] else volume.start
        async for piece in read_volume(agent, run.log, volume, offset, volume.end, pid=pid):
            offset = piece.offset + len(piece.data)
            mark.place = (number, offset)
            mark.read.take(number, piece.offset, piece.data)
            yield piece.data
        if volume.lost_bytes != 0:
            tell(volume.lost_bytes)
        elif offset < volume.end and not (follow and is_last):  # destroyed since
            tell(volume.end - offset)
        mark.place = (number, offset) if is_last else (number + 1, volumes[number + 1].start)
    if follow and run.state.exit is None:
        mark.position = await position_after(
            agent, run.log, mark.place, mark.read, file=volumes[-1].file, pid=pid
        )


async def _start_of_tail(
    agent: Agent, log: str, volumes: Sequence[Volume], lines: int, pid: int | None
) -> tuple[int, int]:
    """Generation and offset at which the last `lines` lines begin."""
    number = len(volumes) - 1
    at, tail = volumes[number].end, b""
    while lines and tail.count(b"\n", 0, -1) < lines:
        if at <= volumes[number].start:
            if number == 0:
                break
            number -= 1
            at = volumes[number].end
            continue
        begin = max(volumes[number].start, at - _TAIL_BLOCK_BYTES)
        block = b""
        async for piece in read_volume(agent, log, volumes[number], begin, at, pid=pid):
            block += piece.data
        if len(block) < at - begin:  # destroyed since; what is left is what there is
            break
        at, tail = begin, block + tail
    kept = tail.splitlines(keepends=True)[-lines:] if lines else []
    passed = len(tail) - sum(map(len, kept))
    while passed > (room := volumes[number].end - at) and number + 1 < len(volumes):
        passed -= room
        number += 1
        at = volumes[number].start
    return number, at + passed
