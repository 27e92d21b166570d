"""Runs one short program on this machine, and gives back what it printed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from dataclasses import dataclass

_LAST_S = 2.0  # so long a killed program may take to be gone: one in a system call dies behind it


@dataclass(frozen=True, slots=True)
class Output:
    """How a program ended; `status` is None when its time was over."""

    status: int | None
    out: str
    err: str


async def run_program(argv: tuple[str, ...], *, text: str = "", limit_s: float) -> Output:
    """Run `argv` with `text` as its standard input, no longer than `limit_s`.

    It leads a session of its own, so that Ctrl-C is for firedup alone; what it started dies with
    it when the time is over. Raises OSError when it cannot be started.
    """
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *argv, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True
    )
    try:
        async with asyncio.timeout(limit_s):
            out, err = await process.communicate(text.encode())
    except BaseException as error:
        await _end(process)
        if isinstance(error, TimeoutError):
            return Output(None, "", "")
        raise
    return Output(
        process.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace")
    )


async def _end(process: asyncio.subprocess.Process) -> None:
    """Kill a program and its children, and wait for it alone.

    A child that went into a session of its own lives on with the pipes, for whose end asyncio
    would wait.
    """
    with contextlib.suppress(ProcessLookupError, PermissionError):  # nobody is left of its group
        os.killpg(process.pid, signal.SIGKILL)
    for number in range(3):
        pipe = process._transport.get_pipe_transport(number)  # type: ignore[attr-defined]  # noqa: SLF001 - no other way
        if pipe is not None:
            pipe.close()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_LAST_S):
            await process.wait()
