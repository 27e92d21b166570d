"""`firedup restart`: stop a run and launch it again."""

from __future__ import annotations

from typing import Any

import click

from firedup.cli import checks, option, stalling
from firedup.cli.command import command as make_command
from firedup.cli.complete import complete_run


@make_command(
    "restart",
    example="""
    firedup restart kimi -- --mem-fraction-static 0.85 --speculative-num-steps 4
    """,
    advice="Flags of the server stand after --.",
)
@click.argument("run", shell_complete=complete_run)
@click.argument("changed", nargs=-1, type=click.UNPROCESSED, metavar="[-- FLAG...]")
@click.option("--force", is_flag=True, help="Launch even when the checks say it is doomed.")
@checks.skips
@stalling.arm_stacks_again
@option.no_wait
@option.timeout
@option.until
@stalling.token_every
@option.requires
@option.lost_after
@option.host
@option.profiles
@option.showing
def command(**given: Any) -> int:
    """Stop a run, wait until its port is free, and launch it again, watched as by firedup run.

    RUN is a name (the newest run that has it; name~1 is the one before), or an id or its beginning.
    Each FLAG replaces the one of that name in the old command, or is added; --no=FLAG drops one.
    K=V before them changes the environment. The difference is shown.
    """
    from firedup.cli.drive import run_async
    from firedup.cli.knowledge import read_catalogue
    from firedup.cli.launch import launch_whole, say_risk
    from firedup.cli.links import open_run
    from firedup.cli.nodes_again import restart_all_nodes
    from firedup.cli.say import say_aside
    from firedup.cli.watching import say_changes, say_launched, watch_launched
    from firedup.session.restart import restart_run

    catalogue = read_catalogue(given["profiles"])

    async def restart() -> int:
        async with open_run(given["host"], given["run"]) as (agent, old):
            if old.manifest.nodes:
                return await restart_all_nodes(old, catalogue, given)
            run, changes = await restart_run(
                agent,
                catalogue,
                old,
                given["changed"],
                say=say_aside,
                force=given["force"],
                arms_stacks=given["arms_stacks"],
                skips=given["skips"],
                heed=say_risk,
                will_watch=not given["no_wait"],
                whole=lambda launching: launch_whole(launching, [agent.host.name]),
            )
            say_changes(old, changes, given)
            if given["no_wait"]:
                say_launched(run, as_json=given["as_json"], changes=changes)
                return 0
            return await watch_launched(agent, catalogue, run, given)

    return run_async(restart())
