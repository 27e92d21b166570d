"""Runs one short command on a host, beside the agent, and gives back what it printed."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from firedup.host.base import Host
from firedup.host.outcome import describe_no_client
from firedup.host.sshsetup import settle


@dataclass(frozen=True, slots=True)
class Output:
    """How a command ended; `status` is None when its time was over."""

    status: int | None
    out: str
    err: str


async def run_there(host: Host, argv: tuple[str, ...], *, text: str = "", limit_s: float) -> Output:
    """Run `argv` on `host` with `text` as its standard input, no longer than `limit_s`.

    Raises LinkError when the program that leads there cannot be started.
    """
    command = (await settle(host)).command(argv)
    pipe = asyncio.subprocess.PIPE
    try:
        process = await asyncio.create_subprocess_exec(
            *command, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True
        )
    except OSError as error:
        raise describe_no_client(host, command[0], error.strerror) from error
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
