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
@option.json
@option.host
def command(
    *, runs: tuple[str, ...], grace_s: float | None, as_json: bool, host: str | None
) -> int:
    """End servers with the signals that suit their engine and stage; ended ones are left alone.

    RUN is a name (the newest run that has it; name~1 is the one before), or an id or its beginning.
    """
    from firedup.cli.drive import run_async
    from firedup.cli.knowledge import read_catalogue
    from firedup.cli.links import open_links
    from firedup.cli.nodes_again import stop_all_nodes
    from firedup.cli.say import say, say_aside
    from firedup.core.error import FiredupError
    from firedup.core.event import Exited
    from firedup.session.stop import StuckError, stop_run
    from firedup.view.ended import record_end, tell_end
    from firedup.view.record import render_json

    catalogue = read_catalogue()

    async def stop_all() -> None:
        async with open_links() as links:
            found = [await links.find(host, text) for text in runs]
            stuck: list[FiredupError] = []
            for agent, run in found:
                end: Exited | FiredupError | None
                try:
                    if run.manifest.nodes:
                        await stop_all_nodes(run, catalogue, grace_s, as_json=as_json)
                        continue
                    telling = say_aside if as_json else say
                    end = await stop_run(agent, catalogue, run, say=telling, grace_s=grace_s)
                except StuckError as error:  # the others must end all the same
                    stuck.append(error)
                    if not as_json or run.manifest.nodes:
                        continue
                    end = error
                if as_json:
                    click.echo(render_json(record_end(run.label, end, was_alive=run.is_alive)))
                elif not isinstance(end, FiredupError):
                    say(f"{run.label.name} {tell_end(end)}")
            if stuck:
                raise stuck[0]

    run_async(stop_all())
    return 0
