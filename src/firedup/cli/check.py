"""`firedup check`: whether a drafter fits its target, told from files alone."""

from __future__ import annotations

import click

from firedup.cli import option
from firedup.cli.command import command as make_command
from firedup.cli.haste import loading


@make_command(
    "check",
    example="""
    firedup check ~/models/Kimi-K2.5 ~/models/kimi-k25-eagle3 --engine sglang
    firedup check box:/m/target box:/m/draft --engine sglang --engine-version 0.5.9
    firedup check --run kimi
    firedup check ~/models/target ~/models/draft --fix ~/models/draft-fixed
    """,
)
@click.argument("target", required=False)
@click.argument("draft", required=False)
@click.option(
    "--engine",
    metavar="NAME",
    help="sglang, vllm or llama-cpp; else that of the command or run, else all three.",
)
@click.option("--engine-version", "version", metavar="V", help="Its version, such as 0.5.9.")
@click.option("--tp", type=click.IntRange(1, 4096), metavar="N", help="Ranks that share a layer.")
@click.option(
    "--command",
    "launch",
    metavar="TEXT",
    help="The launch command, whose flags are judged too; it also names what is not given.",
)
@click.option("--run", metavar="RUN", help="A run, whose command and files are judged.")
@click.option(
    "--tokens",
    metavar="FILE",
    help="Token ids of text that is served, a list on each line: how much of it can be drafted.",
)
@click.option(
    "--fix",
    "out",
    metavar="OUT",
    help="Write a corrected copy of the drafter's folder to this new folder, and check the copy."
    " GGUF files are not corrected.",
)
@option.host
@option.json
@click.option("--all", "has_all", is_flag=True, help="Show the evidence of every finding.")
@option.colour
def command(
    *,
    target: str | None,
    draft: str | None,
    engine: str | None,
    version: str | None,
    tp: int | None,
    launch: str | None,
    run: str | None,
    tokens: str | None,
    out: str | None,
    host: str | None,
    as_json: bool,
    has_all: bool,
    no_color: bool,
) -> int:
    """Say whether a drafter fits its target before a server is started for minutes.

    TARGET and DRAFT are folders or GGUF files, on another host as HOST:/path. Only headers, small
    files and a few rows are read, where they lie. The exit status is 1 when the server would crash
    or accept less than it could, else 0; with --fix it is that of the copy.
    """
    with loading():
        from firedup.cli.checked import check_asked, fix_asked
        from firedup.cli.paper import choose_output
        from firedup.drafter.judge import all_checks, page_of
        from firedup.view.checked import record_checked, render_checked
        from firedup.view.record import render_json

        all_checks()
    words = (target, draft)
    if out is not None:
        from firedup.view.fixed import record_fixed, render_fixed

        fixed = fix_asked(
            words, out, engine=engine, version=version, tp=tp, launch=launch, run=run, host=host
        )
        if as_json:
            click.echo(render_json(record_fixed(fixed)))
        else:
            click.echo(render_fixed(fixed, choose_output(no_color=no_color)), color=True)
        return fixed.exit_status
    checked = check_asked(
        words,
        engine=engine,
        version=version,
        tp=tp,
        launch=launch,
        run=run,
        host=host,
        tokens=tokens,
    )
    if as_json:
        pages = {one.id: page_of(one.id) for one in checked.findings}
        click.echo(render_json(record_checked(checked, pages)))
    else:
        paper = choose_output(no_color=no_color)
        click.echo(render_checked(checked, paper, has_all=has_all), color=True)
    return checked.exit_status
