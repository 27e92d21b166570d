"""Runs one short program on this machine, and gives back what it printed."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Output:
    """How a program ended; `status` is None when its time was over."""

    status: int | None
    out: str
    err: str


async def run_program(argv: tuple[str, ...], *, text: str = "", limit_s: float) -> Output:
    """Run `argv` with `text` as its standard input, no longer than `limit_s`.

    It leads a session of its own, so that Ctrl-C is for firedup alone. Raises OSError when it
    cannot be started.
    """
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *argv, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True
    )
    try:
        async with asyncio.timeout(limit_s):
            out, err = await process.communicate(text.encode())
    except TimeoutError:
        return Output(None, "", "")
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return Output(
        process.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace")
    )
