"""`firedup attach`: watch a run again."""

from __future__ import annotations

from typing import Any

import click

from firedup.cli import option, stalling
from firedup.cli.command import command as make_command
from firedup.cli.complete import complete_run


@make_command(
    "attach",
    example="""
    firedup attach kimi --until exit
    firedup attach kimi --host box
    """,
)
@click.argument("run", shell_complete=complete_run)
@option.timeout
@stalling.stage_limits
@stalling.on_stall
@option.until
@stalling.token_every
@option.requires
@option.lost_after
@option.host
@option.profiles
@option.showing
def command(**given: Any) -> int:
    """Watch a run again, to its verdict or to its end, from where its log was left.

    RUN is a name (the newest run that has it; name~1 is the one before), or an id or its beginning.
    """
    from firedup.cli.drive import run_async
    from firedup.cli.knowledge import read_catalogue
    from firedup.cli.links import open_run
    from firedup.cli.nodes_again import attach_nodes
    from firedup.cli.watching import watch_launched

    catalogue = read_catalogue(given["profiles"])

    async def attach() -> int:
        async with open_run(given["host"], given["run"]) as (agent, run):
            if run.manifest.nodes:
                stalling.refuse_stop_of_nodes(given)
                return await attach_nodes(run, catalogue, given)
            return await watch_launched(agent, catalogue, run, given)

    return run_async(attach())
