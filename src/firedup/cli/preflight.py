"""`firedup preflight`: what speaks against a launch, without launching."""

from __future__ import annotations

from typing import Any

import click

from firedup.cli import checks, option, place
from firedup.cli.command import command as make_command


@make_command(
    "preflight",
    takes_command=True,
    example="""
    firedup preflight -- vllm serve /models/Qwen3-8B --port 8000 --tensor-parallel-size 2
    firedup preflight --host box --json -- sglang serve --model-path /models/K2 --tp 8
    """,
)
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[--] COMMAND...")
@place.options
@click.option("--log", metavar="PATH", help="Where its output is to go; else the run folder.")
@checks.skips
@option.engine
@option.host
@option.profiles
@option.json
@option.colour
def command(**given: Any) -> int:
    """Check on the host what firedup run checks before a launch, and print all of it.

    Severe findings are those that firedup run refuses a launch for; the exit status is then 1.
    Nothing is launched and nothing is changed.
    """
    from firedup.cli.preflown import tell_problems

    return tell_problems(given)
