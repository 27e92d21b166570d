"""A run's log as raw bytes: the whole, the last lines, or everything new."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import closing

from firedup.core.event import LogData
from firedup.host.file import follow_log
from firedup.host.link import Agent
from firedup.session.history import load_volumes, position_after, read_volume
from firedup.session.registry import Run
from firedup.session.trail import Volume

_TAIL_BLOCK_BYTES = 1 << 16


async def read_log(
    agent: Agent,
    run: Run,
    *,
    last_lines: int | None = None,
    follow: bool = False,
    say_lost: Callable[[int | None], None] | None = None,
) -> AsyncIterator[bytes]:
    """The bytes of the run's log, exactly as written; with `follow` for as long as it lives.

    What a rotator moved away or copied is given too, and `say_lost` is called where it destroyed
    bytes, with their number if that is known. `last_lines` leaves out all but the last lines, None
    gives everything. What other runs wrote into the same file is not given.
    """
    tell = say_lost or (lambda _: None)
    pid = run.state.server.pid if run.state.server else None
    volumes = await load_volumes(agent, run.folder, run.log, run.state.log_start, pid=pid)
    start = (0, volumes[0].start)
    if last_lines is not None:
        start = await _start_of_tail(agent, run.log, volumes, last_lines, pid)
    offset = 0
    for number, volume in enumerate(volumes):
        if number < start[0]:
            continue
        is_last = number == len(volumes) - 1
        offset = start[1] if number == start[0] else volume.start
        async for piece in read_volume(agent, run.log, volume, offset, volume.end, pid=pid):
            offset = piece.offset + len(piece.data)
            yield piece.data
        if volume.lost_bytes != 0:
            tell(volume.lost_bytes)
        elif offset < volume.end and not (follow and is_last):  # destroyed since
            tell(volume.end - offset)
    if follow and run.state.exit is None:
        last = len(volumes) - 1
        position = await position_after(
            agent, run.log, last, offset, file=volumes[last].file, pid=pid
        )
        with closing(follow_log(agent, run.log, position)) as reader:
            async for event in reader:
                if isinstance(event, LogData):
                    yield event.data
                elif event.state == "gap":
                    tell(event.lost_bytes)


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
