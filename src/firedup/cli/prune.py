"""`firedup prune`: delete old run folders."""

from __future__ import annotations

import click

from firedup.cli import option
from firedup.cli.command import command as make_command


@make_command(
    "prune",
    example="""
    firedup prune --keep 20 --older-than 30d --dry-run
    """,
)
@click.option(
    "--keep",
    type=click.IntRange(0),
    default=20,
    metavar="N",
    help="Keep so many of the newest ended runs, else 20.",
)
@click.option(
    "--older-than",
    "older_than_s",
    type=option.Duration(),
    metavar="TIME",
    help="Delete only what was launched longer ago than this, such as 30d.",
)
@click.option("--dry-run", is_flag=True, help="Say what would be deleted.")
@option.json
@option.host
def command(
    *, keep: int, older_than_s: float | None, dry_run: bool, as_json: bool, host: str | None
) -> int:
    """Delete the folders of old runs. Runs whose server lives are never deleted.

    Nor are those of which processes are left, or whose keeper still tells somebody; they are named.
    A log that was written to a path of yours by --log stays where it is.
    """
    from firedup.cli.drive import run_async
    from firedup.cli.index import forget_runs
    from firedup.cli.say import say_aside
    from firedup.session.open import open_host
    from firedup.session.prune import prune_runs
    from firedup.session.registry import Run, list_runs
    from firedup.view.record import SCHEMA, render_json
    from firedup.view.result import record_label

    async def prune() -> tuple[tuple[Run, ...], list[Run]]:
        async with open_host(host or "local") as agent:
            runs = await list_runs(agent)
            pruned = await prune_runs(
                agent, runs, keep=keep, older_than_s=older_than_s, dry_run=dry_run
            )
            if not dry_run:
                forget_runs(agent.host.name, pruned)
            return pruned, [run for run in runs if not run.is_alive and run.state.is_keeper_alive]

    pruned, held = run_async(prune())
    for run in held:
        say_aside(
            f"firedup: {run.label.id} stays: its keeper has still to do with it; "
            f"firedup stop {run.label.id} ends processes that are left"
        )
    if as_json:
        runs = [record_label(run.label) for run in pruned]
        click.echo(render_json({"schema": SCHEMA, "runs": runs, "dry_run": dry_run}))
        return 0
    for run in pruned:
        click.echo(f"{'would delete' if dry_run else 'deleted'} {run.label.id}")
    if not pruned:
        click.echo("nothing to delete")
    return 0
