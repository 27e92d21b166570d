"""`firedup demo`: a small real engine on this machine, or the replay of a big one."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from firedup.cli import option
from firedup.cli.command import command as make_command
from firedup.cli.figure import Figure

if TYPE_CHECKING:
    from firedup.demo.screen import Screen


@make_command(
    "demo",
    example="""
    firedup demo
    firedup demo --replay
    firedup demo --engine vllm --install
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
    type=Figure(0.001, 1e6),
    default=60.0,
    metavar="N",
    help="Replay so many times as fast as recorded, else 60.",
)
@click.option(
    "--engine",
    type=click.Choice(["llama-cpp", "vllm"]),
    default="llama-cpp",
    metavar="NAME",
    help="llama-cpp, or vllm, which takes minutes and shows the verdict alone.",
)
@click.option("--install", is_flag=True, help="Install vLLM first: 2.3 GB, in a folder of its own.")
@option.json
@option.colour
def command(
    *,
    recording: str | None,
    speed: float,
    engine: str,
    install: bool,
    as_json: bool,
    no_color: bool,
) -> int:
    """Watch a small real engine come up, speculate and fail, in less than a minute.

    The engine is llama.cpp with tiny models (pip install 'firedup[demo]'); every server is stopped
    again. It ends with the verdict on a drafter. --replay needs no engine: invented recordings are
    judged as a live server would be.
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
    if recording is not None and engine == "vllm":
        raise UsageError("--replay runs no engine", todo="Choose --replay or --engine.")
    if install and engine != "vllm":
        raise UsageError(
            "--install is for vLLM alone", todo="Such as: firedup demo --engine vllm --install"
        )
    people = TERMINAL if can_draw(sys.stdout, os.environ) else PLAIN
    style = JSON if as_json else people
    screen = Screen(sys.stdout, choose_output(no_color=no_color), style=style)
    if engine == "vllm":
        return _show_vllm(screen, install=install)
    if recording is None:
        introduce(screen)  # before the moments that it takes to get ready
    catalogue = read_catalogue()
    matcher = match_log(catalogue, None)
    if recording is None:
        return run_async(show(screen, catalogue, matcher))
    return run_async(play(screen, matcher, recording, speed=speed, pace=pace_by_clock()))


def _show_vllm(screen: Screen, *, install: bool) -> int:
    """The story with vLLM, which is installed first where that is asked for."""
    from firedup.cli.drive import run_async
    from firedup.cli.knowledge import match_log, read_catalogue
    from firedup.cli.say import say_aside
    from firedup.demo import vllm_home
    from firedup.demo.vllm_show import show_vllm

    if install:
        vllm_home.install(os.environ, say_aside)
    program = vllm_home.find_vllm(os.environ)
    catalogue = read_catalogue()
    return run_async(show_vllm(screen, catalogue, match_log(catalogue, None), program))
