"""What `firedup demo` does: a screen for the story or the replay."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

from firedup.cli.drive import run_async
from firedup.cli.knowledge import load_knowledge
from firedup.cli.paper import choose_output
from firedup.demo.screen import JSON, PLAIN, TERMINAL, Screen
from firedup.view.terminal import can_draw


def demonstrate(given: Mapping[str, Any]) -> int:
    """Tell the story or replay the recordings that the options ask for; the exit status."""
    is_drawn = can_draw(sys.stdout, os.environ)
    style = JSON if given["as_json"] else TERMINAL if is_drawn else PLAIN
    screen = Screen(sys.stdout, choose_output(no_color=given["no_color"]), style=style)
    if given["replay"] is not None:
        from firedup.demo.play import pace_by_clock, play

        return run_async(
            play(
                screen,
                load_knowledge().matcher,
                given["replay"],
                speed=given["speed"],
                pace=pace_by_clock(),
            )
        )
    from firedup.demo.show import check_machine, show

    check_machine()  # before the seconds that the knowledge may take
    knowledge = load_knowledge()
    return run_async(show(screen, knowledge.catalogue, knowledge.matcher))
