"""`firedup ps`: the list of runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from firedup.cli import option
from firedup.cli.command import command as make_command

if TYPE_CHECKING:
    from firedup.cli.rows import HostRows


@make_command(
    "ps",
    example="""
    firedup ps --all
    firedup ps --host box --host lab
    """,
)
@click.option("-a", "--all", "has_ended_ones", is_flag=True, help="Runs that have ended as well.")
@option.json
@option.hosts
@click.option(
    "--all-hosts", is_flag=True, help="Ask this machine and every host that is known to firedup."
)
@option.colour
def command(
    *,
    has_ended_ones: bool,
    as_json: bool,
    hosts: tuple[str, ...],
    all_hosts: bool,
    no_color: bool,
) -> int:
    """List the runs whose server lives, newest first.

    What a run is called in the first column is what attach, logs, stop and restart take. Several
    hosts are asked at the same time; one that does not answer is named on standard error and does
    not hide the others. The exit status is 3 when none answered.
    """
    from firedup.cli.drive import run_async
    from firedup.cli.paper import choose_output
    from firedup.cli.rows import fetch_hosts, list_hosts_with_runs, list_known_hosts
    from firedup.cli.say import say_aside
    from firedup.view.record import render_json
    from firedup.view.table import record_rows, render_table

    asked = list_known_hosts() if all_hosts else (hosts or ("local",))
    answers = run_async(fetch_hosts(asked, has_ended_ones=has_ended_ones))
    rows = sorted(
        (row for answer in answers for row in answer.rows),
        key=lambda row: row.started_ns or 0,
        reverse=True,
    )
    troubles = {a.host: a.trouble for a in answers if a.trouble is not None}
    if as_json:
        said = {host: error.what for host, error in troubles.items()}
        click.echo(render_json(record_rows(rows, unreached=said)))
    if len(answers) == 1 and (trouble := answers[0].trouble) is not None:
        raise trouble
    if not as_json and len(troubles) < len(answers):
        ended = 0 if has_ended_ones else sum(answer.ended for answer in answers)
        paper = choose_output(no_color=no_color)
        click.echo(render_table(rows, paper, ended=ended), color=True)
        is_alone = not rows and not hosts and not all_hosts
        if is_alone and (others := list_hosts_with_runs(has_ended_ones=has_ended_ones)):
            say_aside(f"others are on {', '.join(others)}: firedup ps --all-hosts")
    _tell_troubles(answers)
    return 3 if len(troubles) == len(answers) else 0


def _tell_troubles(answers: tuple[HostRows, ...]) -> None:
    """A line for each host that gave no answer, and for folders of which nothing is known."""
    from firedup.cli.say import say_aside

    for answer in answers:
        if damaged := answer.damaged:
            count = "1 run folder" if len(damaged) == 1 else f"{len(damaged)} run folders"
            ids = ", ".join(path.rpartition("/")[2] for path in damaged[:3])
            more = f" and {len(damaged) - 3} more" if len(damaged) > 3 else ""
            there = "" if answer.host == "local" else f"{answer.host}: "
            say_aside(f"firedup: {there}{count} without a readable manifest: {ids}{more}")
        if (error := answer.trouble) is not None:
            known = f"{answer.host}: "
            parts = [error.what.removeprefix(known)]
            parts += [part.split("\n")[0].strip() for part in (error.evidence, error.why) if part]
            say_aside(f"firedup: {known}{' · '.join(parts[:2])}")
