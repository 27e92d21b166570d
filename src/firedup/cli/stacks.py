"""`firedup stacks`: what the processes of a server do at this moment."""

from __future__ import annotations

import click

from firedup.cli import option
from firedup.cli.command import command as make_command
from firedup.cli.complete import complete_run


@make_command(
    "stacks",
    example="""
    firedup stacks kimi
    firedup stacks kimi --host box --json
    """,
)
@click.argument("run", shell_complete=complete_run)
@option.host
@option.json
@option.colour
def command(*, run: str, host: str | None, as_json: bool, no_color: bool) -> int:
    """Take the stacks of all ranks of a living run, and show equal ones together.

    RUN is a name (the newest run that has it; name~1 is the one before), or an id or its beginning.
    No process is stopped for it. Who stands apart is shown with its calls, and all that was taken
    is kept in the run folder. Exit status 6 when nothing could be seen of any process.
    """
    from firedup.cli.drive import run_async
    from firedup.cli.links import open_run
    from firedup.cli.paper import choose_output
    from firedup.cli.say import say_aside
    from firedup.session.stacks_run import take_of_run
    from firedup.session.status import NO_CONCLUSION
    from firedup.view.record import SCHEMA, render_json
    from firedup.view.redact import conceal
    from firedup.view.result import record_label
    from firedup.view.stack import record_stacks, render_stacks

    async def take() -> int:
        async with open_run(host, run) as (agent, found):
            asked = await take_of_run(agent, found, conceal)
        if as_json:
            told = {"run": record_label(found.label), "stacks": record_stacks(asked.stacks)}
            click.echo(render_json({"schema": SCHEMA, **told}))
        elif asked.stacks is not None:
            place = "local" if found.manifest.nodes else found.label.host
            paper = choose_output(no_color=no_color)
            lines = render_stacks(asked.stacks, paper, host=place)
            click.echo(paper.finish(lines[1:]), color=True)
        for trouble in asked.troubles:
            say_aside(f"firedup: {trouble}")
        has_any = asked.stacks is not None and asked.stacks.has_any
        return 0 if has_any else NO_CONCLUSION

    return run_async(take())
