"""`firedup explain`: what logs tell."""

from __future__ import annotations

from pathlib import Path

import click

from firedup.cli import option
from firedup.cli.command import command as make_command
from firedup.cli.haste import loading


@make_command(
    "explain",
    example="""
    firedup explain server.log
    firedup explain kimi
    firedup explain --host box '~/sglang/server.log'
    kubectl logs sglang-0 | firedup explain --json -
    """,
)
@click.argument("logs", nargs=-1, required=True, metavar="LOG...")
@option.json
@click.option(
    "--context",
    type=click.IntRange(0, 200),
    default=2,
    metavar="N",
    help="Lines of the log before the cause and after it, else 2.",
)
@click.option(
    "--tail",
    type=click.IntRange(0, 1000),
    default=0,
    metavar="N",
    help="Show the last N lines of the log, too.",
)
@click.option("--all", "has_all", is_flag=True, help="Leave nothing out, however long it gets.")
@click.option("--exit-status", is_flag=True, help="End with the status of the verdict.")
@option.engine
@option.host
@option.profiles
@option.colour
def command(
    *,
    logs: tuple[str, ...],
    as_json: bool,
    context: int,
    tail: int,
    has_all: bool,
    exit_status: bool,
    engine: str | None,
    host: str | None,
    profiles: tuple[Path, ...],
    no_color: bool,
) -> int:
    """Say what the log of a server tells: verdict, stages, cause and remedy.

    LOG is a file, - for standard input, or a run where there is no such file: its name, name~1 or
    id; its exit status and samples are evidence then, too. With --host it is a file or a run there,
    read over the link and not kept; relative paths begin at the home there. Several logs give a
    statement each; with --json that is one object a line, which carries the path. The exit status
    is 0 when every log could be read; with --exit-status it is the gravest of the verdicts.
    """
    with loading():
        from firedup.cli.explained import explain_all
        from firedup.cli.knowledge import match_log, read_catalogue
        from firedup.cli.paper import choose_output
        from firedup.cli.status import gravest
        from firedup.core.error import FiredupError
        from firedup.session.explain import Looking
        from firedup.session.status import status_of

        matcher = match_log(read_catalogue(profiles, engine=engine), engine)
    paper = choose_output(no_color=no_color)
    statuses: list[int] = []
    looking = Looking(context, tail)
    found = explain_all(logs, host, matcher=matcher, engine=engine, looking=looking)
    for path, explanation in found:
        shown = path if len(logs) > 1 else None
        if isinstance(explanation, FiredupError):
            if shown is None:
                raise explanation
            from firedup.cli.complaint import render_error

            click.echo(f"firedup: {render_error(explanation)}", err=True)
            statuses.append(explanation.exit_status)
            continue
        if as_json:
            from firedup.view.record import record_explanation, render_json

            click.echo(render_json(record_explanation(explanation, path=shown)))
        else:
            from firedup.view.explanation import render_explanation

            gap = "\n" if statuses else ""
            text = render_explanation(explanation, paper, path=shown, has_all=has_all)
            click.echo(gap + text, color=True)
        statuses.append(status_of(explanation.verdict) if exit_status else 0)
    return gravest(statuses)
