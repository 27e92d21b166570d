"""Runs one short command on a host, beside the agent, and gives back what it printed."""

from __future__ import annotations

from firedup.host.base import Host
from firedup.host.outcome import describe_no_client
from firedup.host.program import Output, run_program
from firedup.host.sshsetup import settle


async def run_there(host: Host, argv: tuple[str, ...], *, text: str = "", limit_s: float) -> Output:
    """Run `argv` on `host` with `text` as its standard input, no longer than `limit_s`.

    Raises LinkError when the program that leads there cannot be started.
    """
    command = (await settle(host)).command(argv)
    try:
        return await run_program(command, text=text, limit_s=limit_s)
    except OSError as error:
        raise describe_no_client(host, command[0], error.strerror) from error
