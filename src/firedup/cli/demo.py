"""`firedup demo`: small real servers on this machine, or the replay of big ones."""

from __future__ import annotations

from typing import Any

import click

from firedup.cli import option
from firedup.cli.command import command as make_command


@make_command(
    "demo",
    example="""
    firedup demo
    firedup demo --replay kimi-crash --speed 20
    """,
)
@click.option(
    "--replay",
    type=click.Choice(["kimi-start", "kimi-crash", "all"]),
    is_flag=False,
    flag_value="all",
    help="Replay an invented start on eight GPUs instead; alone it means all. Needs no engine.",
)
@click.option(
    "--speed",
    type=click.FloatRange(0, min_open=True),
    default=50.0,
    show_default=True,
    help="How many times as fast as recorded a replay passes.",
)
@click.option("--json", "as_json", is_flag=True, help="Print events as JSON Lines.")
@option.colour
def command(**given: Any) -> int:
    """Show what firedup does, with real servers on this machine, in less than a minute.

    A small llama.cpp server is launched with a trained and an untrained drafter, with one of
    another vocabulary, on a port that is taken, and with half a model. All are stopped again.
    Status 0 when each came out as it should. The engine comes with pip install 'firedup[demo]'.
    """
    from firedup.cli.demonstrate import demonstrate

    return demonstrate(given)
