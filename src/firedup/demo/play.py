"""Plays the invented recordings through the pipeline and the views, in fast time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from itertools import groupby

from firedup.core.event import Begun
from firedup.core.model import Snapshot, Verdict
from firedup.core.rule import Matcher
from firedup.demo.kimi_worth import weigh
from firedup.demo.replay import RECORDINGS, Due, events, schedule
from firedup.demo.screen import Screen
from firedup.profile.pipeline import Pipeline

ALL = "all"
RECORDED_YEAR = 2026
TITLE, NAME = "REPLAY of an invented recording", "REPLAY, invented"
EXPECTED = {"kimi-start": Verdict.READY, "kimi-crash": Verdict.CRASHED}


# Waits until so many seconds after the first call with 0.
Pace = Callable[[float], Awaitable[None]]


def pace_by_clock() -> Pace:
    """Real time."""
    begun_s = 0.0

    async def wait_until(due_s: float) -> None:
        nonlocal begun_s
        if due_s == 0.0:
            begun_s = time.monotonic()
        await asyncio.sleep(max(0.0, begun_s + due_s - time.monotonic()))

    return wait_until


async def play(screen: Screen, matcher: Matcher, name: str, *, speed: float, pace: Pace) -> int:
    """Replay the recording `name`, or ALL; 0 when each ends in the verdict that it must, else 1."""
    names = tuple(RECORDINGS) if name == ALL else (name,)
    wrong = []
    length: float | None = None  # of acceptance
    for each in names:
        recording = RECORDINGS[each]
        screen.tell("replay", recording=each, invented=True, title=recording.title, speed=speed)
        screen.head(
            f"{TITLE}: {recording.title}",
            f"{recording.meaning[0].upper()}{recording.meaning[1:]}. No server runs: log,"
            f" processes and answers are invented, and firedup judges them as it would a live"
            f" server's. Time passes {speed:,.10g} times as fast as recorded; the times shown are"
            " those of the recording.",
        )
        screen.say("")
        last = await screen.show(_snapshots(each, matcher, speed, pace), NAME)
        if last.explanation.verdict is not EXPECTED[each]:
            wrong.append(each)
            screen.say(f"✗ this should have ended as {EXPECTED[each]}", "red")
        length = last.acceptance.length if last.acceptance else length
    if length is not None:
        weigh(screen, length)
    screen.tell("demo", recordings=list(names), as_expected=not wrong)
    screen.head("Try next")
    screen.show_commands(
        ("firedup demo", "real servers on this machine"),
        ("firedup run -- COMMAND…", "launch and watch a server of your own"),
        ("firedup watch LOG", "watch one that runs already"),
    )
    return 1 if wrong else 0


async def _snapshots(
    name: str, matcher: Matcher, speed: float, pace: Pace
) -> AsyncIterator[Snapshot]:
    """A snapshot for each moment of the recording at which something happened."""
    pipeline = Pipeline(matcher, year=RECORDED_YEAR)
    begun: Begun | None = None
    for due_s, items in groupby(schedule(events(name), speed=speed), key=_due_s):
        await pace(due_s)
        now_ns = 0
        for item in items:
            pipeline.feed(item.event)
            now_ns = item.event.at_ns
            if isinstance(item.event, Begun):
                begun = item.event
        wall_ns = begun.wall_ns + now_ns - begun.at_ns if begun else None
        yield pipeline.snapshot(now_ns, wall_ns)


def _due_s(due: Due) -> float:
    return due.due_s
