"""What the drafter of the invented server is worth: figures, and the arithmetic from them alone."""

from __future__ import annotations

from firedup.core.measure.speedup import Speedup, assume, solve
from firedup.demo.screen import Screen
from firedup.view.speedup import record_speedup, render_speedup

# Tokens a second of one stream, as invented as the server.
BASELINE, SPEED = 82.0, 52.0
# What the drafter reaches with the model that it was trained for.
WHAT_IF = "accept=3.2"


def weigh(screen: Screen, acceptance_length: float) -> None:
    """Show what follows from the speeds and from what the replayed server told."""
    found, assumed = reckon(acceptance_length)
    screen.tell("speedup", invented=True, **record_speedup(found, assumed))
    screen.head(
        "Was that drafter worth having?",
        "The server that came up told its acceptance length. With its speed, and that of the same"
        " server without a drafter, as invented as the rest, firedup says what follows; the last"
        " line is for the acceptance length that the drafter has on the model that it was made"
        " for. From servers that run, firedup probe measures all of these.",
    )
    screen.show_command(command(found))
    for line in render_speedup(found, assumed):
        screen.say(line)


def reckon(acceptance_length: float) -> tuple[Speedup, list[tuple[str, Speedup]]]:
    """The arithmetic, and what would be under the assumption."""
    found = solve(BASELINE, speed=SPEED, acceptance_length=acceptance_length)
    return found, [(WHAT_IF, assume(found, WHAT_IF))]


def command(found: Speedup) -> tuple[str, ...]:
    """What one would type for the same."""
    figures = ("--baseline", found.baseline, "--speed", found.speed)
    accept = ("--accept", found.acceptance_length, "--what-if", WHAT_IF)
    words = (f"{one:g}" if isinstance(one, float) else one for one in (*figures, *accept))
    return ("firedup", "speedup", *words)
