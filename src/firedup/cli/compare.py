"""`firedup compare`: two measurements that are kept, held against each other."""

from __future__ import annotations

import click

from firedup.cli import option
from firedup.cli.command import command as make_command
from firedup.cli.figure import Figure


@make_command(
    "compare",
    example="""
    firedup compare plain drafted
    firedup compare plain 20261130-014248-fb32 --json
    """,
)
@click.argument("baseline", required=False)
@click.argument("candidate", required=False)
@click.option(
    "--validation-accuracy",
    "accuracy",
    type=Figure(0, 1),
    metavar="SHARE",
    help="A training's figure, to be told what it would mean, and that it is no acceptance.",
)
@click.option("--csv", "csv_file", type=click.Path(), metavar="FILE", help="Write each request.")
@option.json
def command(
    *,
    baseline: str | None,
    candidate: str | None,
    accuracy: float | None,
    csv_file: str | None,
    as_json: bool,
) -> int:
    """Say whether CANDIDATE is worth having, by what firedup probe measured of both.

    Each is a run (its newest measurement, or with ~1 the one before), or the id or file of a
    measurement. What differs beside the drafter is listed, and what cannot be compared is refused.
    Without them all measurements that are kept are listed.
    """
    if baseline is None:
        from firedup.cli.keptprobes import tell_kept

        return tell_kept(as_json=as_json)
    if candidate is None:
        raise click.UsageError("two measurements are wanted; without any, those kept are listed")
    from firedup.cli.compared import compare_kept

    return compare_kept(baseline, candidate, accuracy=accuracy, csv_file=csv_file, as_json=as_json)
