"""`firedup history`: earlier starts, how long they took, and what changed between two."""

from __future__ import annotations

import click

from firedup.cli import option
from firedup.cli.command import command as make_command


@make_command(
    "history",
    example="""
    firedup history --model Kimi-K2.5
    firedup history kimi~1 kimi
    """,
)
@click.argument("old", required=False, metavar="[RUN")
@click.argument("new", required=False, metavar="RUN]")
@option.hosts
@click.option("--model", metavar="WORD", help="Starts alone whose model's name has this in it.")
@click.option(
    "--last",
    type=click.IntRange(1),
    default=50,
    metavar="N",
    help="No more starts than this, the newest, else 50.",
)
@option.json
@option.colour
def command(
    *,
    old: str | None,
    new: str | None,
    hosts: tuple[str, ...],
    model: str | None,
    last: int,
    as_json: bool,
    no_color: bool,
) -> int:
    """List the starts of a host: when, with which verdict and cause, and how long stages took.

    With two runs: what changed from the first to the second, in flags, environment, versions and
    files, and how long each stage took in both. With one run: what changed since the one of its
    name before. A host that does not answer is told of from what this machine knows.
    """
    if old is not None:
        from firedup.cli.starts import tell_changes

        if len(hosts) > 1:
            raise click.UsageError("two runs are compared on one host")
        first, second = (old, new) if new is not None else (None, old)
        host = hosts[0] if hosts else None
        return tell_changes(first, second, host=host, as_json=as_json, no_color=no_color)
    from firedup.cli.starts import tell_history

    return tell_history(
        hosts or ("local",), model=model, last=last, as_json=as_json, no_color=no_color
    )
