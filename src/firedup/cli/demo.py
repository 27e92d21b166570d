"""`firedup demo`: a small real engine on this machine, or the replay of a big one."""

from __future__ import annotations

import os
import sys

import click

from firedup.cli import option
from firedup.cli.command import command as make_command


@make_command(
    "demo",
    example="""
    firedup demo
    firedup demo --replay
    """,
)
@click.option(
    "--replay",
    "recording",
    is_flag=False,
    flag_value="all",
    metavar="[NAME]",
    help="Replay invented starts of an eight-GPU server: kimi-start, kimi-crash; else both.",
)
@click.option(
    "--speed",
    type=click.FloatRange(0, min_open=True),
    default=60.0,
    metavar="N",
    help="Replay so many times as fast as recorded, else 60.",
)
@option.json
@option.colour
def command(*, recording: str | None, speed: float, as_json: bool, no_color: bool) -> int:
    """Watch a small real engine come up, speculate and fail, in less than a minute.

    The engine is llama.cpp with tiny models (pip install 'firedup[demo]'); every server is stopped
    again. --replay needs no engine: invented recordings are judged as a live server would be.
    """
    from firedup.cli.drive import run_async
    from firedup.cli.knowledge import match_log, read_catalogue
    from firedup.cli.paper import choose_output
    from firedup.core.error import UsageError
    from firedup.demo.play import ALL, pace_by_clock, play
    from firedup.demo.replay import RECORDINGS
    from firedup.demo.screen import JSON, PLAIN, TERMINAL, Screen
    from firedup.demo.show import introduce, show
    from firedup.view.terminal import can_draw

    if recording not in (None, ALL, *RECORDINGS):
        raise UsageError(
            f"there is no recording {recording!r}", why=f"there are: {', '.join(RECORDINGS)}"
        )
    people = TERMINAL if can_draw(sys.stdout, os.environ) else PLAIN
    style = JSON if as_json else people
    screen = Screen(sys.stdout, choose_output(no_color=no_color), style=style)
    if recording is None:
        introduce(screen)  # before the moments that it takes to get ready
    catalogue = read_catalogue()
    matcher = match_log(catalogue, None)
    if recording is None:
        return run_async(show(screen, catalogue, matcher))
    return run_async(play(screen, matcher, recording, speed=speed, pace=pace_by_clock()))
