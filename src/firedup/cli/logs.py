"""`firedup logs`: the log of a run."""

from __future__ import annotations

import sys

import click

from firedup.cli import option
from firedup.cli.command import command as make_command
from firedup.cli.complete import complete_run


@make_command(
    "logs",
    example="""
    firedup logs kimi -n 50 -f
    firedup logs kimi --host box > kimi.log
    """,
)
@click.argument("run", shell_complete=complete_run)
@click.option("-f", "--follow", is_flag=True, help="Go on printing what is written.")
@click.option("-n", "--lines", type=click.IntRange(0), metavar="N", help="The last N lines only.")
@click.option(
    "--path",
    "only_path",
    is_flag=True,
    help="Print where the log is, on another host as HOST:PATH.",
)
@click.option("--node", type=click.IntRange(0), metavar="N", help="Of this node, by its rank.")
@option.host
def command(
    *,
    run: str,
    follow: bool,
    lines: int | None,
    only_path: bool,
    node: int | None,
    host: str | None,
) -> int:
    """Print the log of a run.

    RUN is a name (the newest run that has it; name~1 is the one before), or an id or its beginning.
    In a pipe the bytes are those of the log; on a terminal control sequences and secrets are
    taken out. What a rotator moved away or copied is printed too, oldest first; where it destroyed
    some, standard error says so, and when the link to a host is down: this goes on once it is up
    again.
    """
    from firedup.cli.drive import run_async
    from firedup.cli.links import open_run
    from firedup.cli.raw import open_raw, write_while_read
    from firedup.cli.say import say_aside
    from firedup.session.log import copy_log
    from firedup.session.nodes import open_node
    from firedup.view.phrase import name_place

    async def print_log() -> None:
        async with open_run(host, run) as one, open_node(*one, node) as (agent, found):
            if only_path:
                click.echo(name_place(found.label.host, found.log))
                return
            with open_raw(sys.stdout) as write:
                await copy_log(
                    agent,
                    found,
                    write,
                    last_lines=lines,
                    follow=follow,
                    say=say_aside,
                    say_lost=say_lost,
                )

    def say_lost(lost_bytes: int | None) -> None:
        some = "an unknown part" if lost_bytes is None else f"{lost_bytes} bytes"
        say_aside(f"{some} of the log were destroyed before they could be read here")

    run_async(write_while_read(sys.stdout, print_log()))
    return 0
