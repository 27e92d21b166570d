"""`firedup watch`: watch a server that somebody else started."""

from __future__ import annotations

from typing import Any

import click

from firedup.cli import nodeoption, option, stalling
from firedup.cli.command import command as make_command


@make_command(
    "watch",
    example="""
    firedup watch server.log --timeout 30m
    firedup watch --host box '~/sglang/server.log'
    firedup watch docker:sglang
    firedup watch server.log --format classic --every 15 --width 120 --tail 30
    """,
)
@click.argument("log", required=False)
@click.option(
    "--pid",
    type=click.IntRange(1),
    metavar="PID",
    help="The server's process, if not who writes LOG.",
)
@option.timeout
@stalling.stage_limits
@option.until
@stalling.token_every
@option.requires
@option.lost_after
@option.engine
@option.patterns
@option.host
@nodeoption.nodes
@option.profiles
@option.showing
def command(**given: Any) -> int:
    """Watch a server by its log until it is ready or has failed.

    The server is found by itself: it is the process that holds LOG open for writing. A LOG that
    does not exist yet is waited for. LOG may also be docker:NAME, podman:NAME, k8s:NS/POD or
    journal:UNIT: what keeps the server tells its log and its end. The patterns are for programs
    that no profile knows. With --node HOST=LOG, once for each, the nodes of one server on several
    hosts are watched together.
    """
    if nodeoption.asks_for_nodes(given):
        from firedup.cli.nodes_watched import watch_nodes_to_verdict

        return watch_nodes_to_verdict(given)
    if given["log"] is None:
        raise click.MissingParameter(param_hint="'LOG'", param_type="argument")
    from firedup.cli.watched import watch_to_verdict

    return watch_to_verdict(given)
