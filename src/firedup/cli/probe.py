"""`firedup probe`: acceptance and speed of a server, against a baseline where there is one."""

from __future__ import annotations

from typing import Any

import click

from firedup.cli import asking, option
from firedup.cli.command import command as make_command
from firedup.cli.complete import complete_run
from firedup.cli.figure import Figure


@make_command(
    "probe",
    example="""
    firedup probe plain --concurrency 1,8
    firedup probe drafted --baseline plain
    firedup probe http://127.0.0.1:30000 --baseline http://127.0.0.1:30001 --budget 5m
    firedup probe --from-log server.log
    firedup probe --list
    """,
)
@click.argument("target", metavar="[URL|RUN|LOG]", required=False, shell_complete=complete_run)
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
    type=Figure(0.001, 10_000),
    metavar="R",
    help="Send so many requests a second instead, whatever is under way.",
)
@asking.requests
@asking.max_tokens
@click.option(
    "--natural/--fixed",
    "natural",
    default=None,
    help="Let answers end by themselves, or at the same length; else at the same length.",
)
@click.option(
    "--category",
    "categories",
    multiple=True,
    metavar="NAME",
    help="Only such prompts; may be repeated.",
)
@click.option(
    "--prompts",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Prompts of your own, JSON Lines.",
)
@click.option("--seed", type=int, metavar="N", help="Which prompts are drawn, else 0.")
@click.option(
    "--budget",
    "budget_s",
    type=option.Duration(least_s=1),
    metavar="TIME",
    help="Stop after so long.",
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
@click.option("--list", "is_list", is_flag=True, help="List the measurements that are kept.")
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
    if given["is_list"] and given["target"] is None:
        from firedup.cli.keptprobes import tell_kept

        return tell_kept(as_json=given["as_json"])
    if given["is_list"] or given["target"] is None:
        raise click.UsageError("one of URL, RUN, LOG and --list is wanted")
    from firedup.cli.probed import run_probe

    return run_probe(given)
