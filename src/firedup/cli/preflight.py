"""`firedup preflight`: what speaks against a launch, without launching."""

from __future__ import annotations

from typing import Any

import click

from firedup.cli import checks, option
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
@click.option("--env", "env", multiple=True, type=option.Variable(), help="Set a variable.")
@click.option(
    "--env-file",
    "env_files",
    multiple=True,
    metavar="FILE",
    help="Set the variables of a file of K=V lines that lies on the host; may be repeated.",
)
@click.option("--setup", metavar="SHELL", help="Shell before it: 'source venv/bin/activate'.")
@click.option("--login/--no-login", default=None, help="Launch from a login shell, or not.")
@click.option(
    "--cwd", metavar="DIR", help="The server's folder; else this one, on a host the home there."
)
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
