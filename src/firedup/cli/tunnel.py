"""`firedup tunnel`: a port of this machine that leads to a server on another."""

from __future__ import annotations

from typing import Any

import click

from firedup.cli import option
from firedup.cli.command import command as make_command
from firedup.cli.complete import complete_run


@make_command(
    "tunnel",
    example="""
    firedup tunnel kimi --host box
    firedup tunnel kimi --host box --port 8000 --json
    """,
)
@click.argument("run", shell_complete=complete_run)
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    metavar="N",
    help="The port here; else the server's own where it is free, else any.",
)
@click.option(
    "--to",
    "server_port",
    type=click.IntRange(1, 65535),
    metavar="N",
    help="The server's port on its host; else what its command names, or the one it listens at.",
)
@click.option(
    "--bind",
    default="127.0.0.1",
    metavar="ADDRESS",
    help="The address here; any but this machine's own lets others in.",
)
@option.lost_after
@option.json
@option.host
def command(**given: Any) -> int:
    """Give other programs on this machine a port that leads to the server of a run.

    RUN is a name (the newest run that has it; name~1 is the one before), or an id or its beginning.
    Connections go through the link that firedup has anyway, whatever kind of host it is. API keys
    are the business of the clients and pass as they are. It lasts until the server ends, or Ctrl-C.
    """
    from firedup.cli.drive import run_async
    from firedup.cli.tunnelled import open_tunnel

    run_async(open_tunnel(given))
    return 0
