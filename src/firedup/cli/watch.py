"""`firedup watch`: watch a server that somebody else started."""

from __future__ import annotations

from typing import Any

import click

from firedup.cli import option
from firedup.cli.command import command as make_command


@make_command(
    "watch",
    example="""
    firedup watch server.log --timeout 30m
    firedup watch --host box '~/sglang/server.log'
    firedup watch server.log --format classic --every 15 --width 120 --tail 30
    """,
)
@click.argument("log")
@click.option(
    "--pid",
    type=click.IntRange(1),
    metavar="PID",
    help="The server's process, if not who writes LOG.",
)
@option.timeout
@option.until
@option.requires
@option.lost_after
@option.engine
@option.patterns
@option.host
@option.profiles
@option.showing
def command(**given: Any) -> int:
    """Watch a server by its log until it is ready or has failed.

    The server is found by itself: it is the process that holds LOG open for writing. A LOG that
    does not exist yet is waited for. The patterns are for programs that no profile knows.
    """
    from firedup.cli.watched import watch_to_verdict

    return watch_to_verdict(given)
