"""`firedup stop`: end servers."""

from __future__ import annotations

import click

from firedup.cli import option
from firedup.cli.command import command as make_command
from firedup.cli.complete import complete_run


@make_command(
    "stop",
    example="""
    firedup stop kimi --grace 20s
    firedup stop kimi baseline --host box
    """,
)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", shell_complete=complete_run)
@click.option(
    "--grace",
    "grace_s",
    type=option.Duration(),
    metavar="TIME",
    help="How long each signal may take; else what suits the engine and the stage.",
)
@option.host
def command(*, runs: tuple[str, ...], grace_s: float | None, host: str | None) -> int:
    """End servers with the signals that suit their engine and stage; ended ones are left alone.

    RUN is a name (the newest run that has it; name~1 is the one before), or an id or its beginning.
    """
    from firedup.cli.drive import run_async
    from firedup.cli.links import open_links
    from firedup.cli.nodes_again import stop_all_nodes, tell_end
    from firedup.cli.say import say
    from firedup.core.error import FiredupError
    from firedup.profile.load import load_catalogue
    from firedup.session.stop import StuckError, stop_run

    catalogue = load_catalogue()

    async def stop_all() -> None:
        async with open_links() as links:
            found = [await links.find(host, text) for text in runs]
            stuck: list[FiredupError] = []
            for agent, run in found:
                try:
                    if run.manifest.nodes:
                        await stop_all_nodes(run, catalogue, grace_s)
                        continue
                    end = await stop_run(agent, catalogue, run, say=say, grace_s=grace_s)
                except StuckError as error:  # the others must end all the same
                    stuck.append(error)
                    continue
                say(f"{run.label.name} {tell_end(end)}")
            if stuck:
                raise stuck[0]

    run_async(stop_all())
    return 0
