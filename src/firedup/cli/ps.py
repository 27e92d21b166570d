"""`firedup ps`: the list of runs."""

from __future__ import annotations

import click

from firedup.cli import option
from firedup.cli.command import command as make_command


@make_command(
    "ps",
    example="""
    firedup ps --all
    """,
)
@click.option("-a", "--all", "has_ended_ones", is_flag=True, help="Runs that have ended as well.")
@option.json
@option.host
@option.colour
def command(*, has_ended_ones: bool, as_json: bool, host: str, no_color: bool) -> int:
    """List the runs whose server lives, newest first.

    What a run is called in the first column is what attach, logs, stop and restart take.
    """
    from firedup.cli.drive import run_async
    from firedup.cli.paper import choose_output
    from firedup.cli.rows import count_runs, fetch_rows
    from firedup.view.record import render_json
    from firedup.view.table import record_rows, render_table

    rows = run_async(fetch_rows(host, has_ended_ones=has_ended_ones))
    if as_json:
        click.echo(render_json(record_rows(rows)))
    else:
        ended = 0 if rows or has_ended_ones else run_async(count_runs(host))
        paper = choose_output(no_color=no_color)
        click.echo(render_table(rows, paper, ended=ended), color=True)
    return 0
