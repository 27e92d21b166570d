"""`firedup probe`: acceptance and speed of a server, against a baseline where there is one."""

from __future__ import annotations

from typing import Any

import click

from firedup.cli import option
from firedup.cli.command import command as make_command
from firedup.cli.complete import complete_run


@make_command(
    "probe",
    example="""
    firedup probe plain --concurrency 1,8
    firedup probe drafted --baseline plain
    firedup probe http://127.0.0.1:30000 --baseline http://127.0.0.1:30001 --budget 5m
    firedup probe --from-log server.log
    """,
)
@click.argument("target", metavar="URL|RUN|LOG", shell_complete=complete_run)
@click.option(
    "--baseline",
    metavar="URL|RUN",
    shell_complete=complete_run,
    help="The same server without a drafter: one that is up, or the newest probe of a run.",
)
@click.option(
    "--concurrency",
    metavar="N,…",
    help="How many requests are under way at a time; several one after the other. Else 1.",
)
@click.option(
    "--rate",
    type=click.FloatRange(0, min_open=True),
    metavar="R",
    help="Send so many requests a second instead, whatever is under way.",
)
@click.option(
    "--requests", type=click.IntRange(4), metavar="N", help="Prompts for each load, else 42."
)
@click.option(
    "--max-tokens", type=click.IntRange(8), metavar="N", help="Tokens of an answer, else 256."
)
@click.option(
    "--natural/--fixed",
    "natural",
    default=None,
    help="Let answers end by themselves, or at the same length; else at the same length.",
)
@click.option(
    "--category", "categories", multiple=True, metavar="NAME", help="Only these; may be repeated."
)
@click.option(
    "--prompts",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Prompts of your own, JSON Lines.",
)
@click.option("--seed", type=int, metavar="N", help="Which prompts are drawn, else 0.")
@click.option(
    "--budget", "budget_s", type=option.Duration(), metavar="TIME", help="Stop after so long."
)
@click.option(
    "--step-cost",
    is_flag=True,
    help="Fit what a step costs by draft tokens, with what is kept of this server.",
)
@click.option(
    "--from-log",
    is_flag=True,
    help="The target is a log: say what its own lines tell of acceptance and speed.",
)
@click.option("--engine", metavar="NAME", help="What answers, if it does not say.")
@click.option(
    "--api-key-env",
    metavar="VARIABLE",
    help="The environment variable here that has the server's API key.",
)
@click.option(
    "--cacert",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Trust these authorities instead of the system's.",
)
@click.option("--insecure", is_flag=True, help="Trust any certificate.")
@click.option("--csv", "csv_file", type=click.Path(), metavar="FILE", help="Write each request.")
@option.json
@option.host
def command(**given: Any) -> int:
    """Measure a running server: tokens a second, acceptance length, time of a step.

    With a baseline it is said whether the drafter is worth having, and why. Each prompt is asked
    once; the first requests of each load warm up and do not count. The measurement is kept, and
    can be the baseline of a later one.
    """
    from firedup.cli.probed import run_probe

    return run_probe(given)
