"""`firedup demo --replay`: what is shown of each recording, at what times, and how it ends.

GOLDEN=write pytest tests/demo/test_show_replay.py writes the golden files anew.
"""

import asyncio
import io
import json
import os
import shlex
from datetime import UTC
from pathlib import Path

import pytest
from click.testing import CliRunner
from compiled import builtin_matcher

from firedup.cli.speedup import command as speedup_command
from firedup.core.model import Verdict
from firedup.demo import play as player
from firedup.demo.play import ALL, play
from firedup.demo.replay import RECORDINGS, events
from firedup.demo.screen import JSON, PLAIN, Screen
from firedup.view.paper import Paper

GOLDEN = Path(__file__).with_name("golden")


@pytest.fixture(scope="module")
def matcher():
    return builtin_matcher()


async def no_wait(due_s: float) -> None:
    """Time is not what these tests are about."""


async def replay(matcher, name: str, *, style: str = PLAIN, speed: float = 60.0, pace=no_wait):
    stream = io.StringIO()
    screen = Screen(stream, Paper(100), style=style, zone=UTC)
    status = await play(screen, matcher, name, speed=speed, pace=pace)
    return status, stream.getvalue()


@pytest.fixture(scope="module")
def told(matcher):
    """Status and text of both recordings, one after the other."""
    return asyncio.run(replay(matcher, ALL))


@pytest.fixture(scope="module")
def told_as_json(matcher):
    """The events of the recording that comes up."""
    _, text = asyncio.run(replay(matcher, "kimi-start", style=JSON))
    return [json.loads(line) for line in text.splitlines()]


def test_the_replays_are_told_line_by_line(told):
    status, text = told

    path = GOLDEN / "replay.txt"
    if os.environ.get("GOLDEN") == "write":
        path.write_text(text, encoding="utf-8")
    assert status == 0
    assert text == path.read_text(encoding="utf-8")


def test_a_replay_says_first_that_it_is_one_and_of_what(told):
    _, text = told

    assert text.startswith("REPLAY of an invented recording: ")
    assert text.count("REPLAY of an invented recording: ") == len(RECORDINGS) == 2
    assert text.count(" +00:00 REPLAY, invented · sglang · Kimi-K2.5-INT4") == 2


def test_a_replay_ends_with_the_statement_and_offers_no_run_that_does_not_exist(told):
    _, text = told

    assert text.index("✓ ready after 11 min") < text.index("✗ crashed in graph-capture")
    statement = text[text.index("✗ crashed in graph-capture") :]
    assert "cause  gpu-memory-already-used" in statement
    assert "TP5 · in graph-capture" in statement
    assert "firedup restart" not in text
    assert "firedup attach" not in text


async def test_one_that_crashed_can_be_replayed_alone_and_has_no_drafter_to_weigh(matcher):
    status, text = await replay(matcher, "kimi-crash", style=JSON)

    events = [json.loads(line) for line in text.splitlines()]
    assert status == 0
    assert [event["verdict"] for event in events if event["event"] == "result"] == ["crashed"]
    assert not any(event["event"] == "speedup" for event in events)


def test_the_replays_end_with_what_the_drafter_that_came_up_is_worth(told):
    _, text = told

    _, end = text.split("\nWas that drafter worth having?\n")
    # 1.5 / 52 against 1 / 82 of a second; 3.2 at the same step is 110.9 tokens a second.
    assert "0.63x: 37 % slower, a loss." in end
    assert "pays from an acceptance length of 2.37 on" in end
    assert "it takes 4.73" in end
    assert "accept=3.2     111 tok/s  1.35x, 35 % faster" in end


def test_the_shown_arithmetic_is_what_its_command_prints(told):
    _, text = told
    (shown,) = (line for line in text.splitlines() if line.startswith("$ firedup speedup"))

    printed = CliRunner().invoke(speedup_command, shlex.split(shown)[3:]).output

    assert printed in text


async def test_events_wait_for_their_time(matcher):
    asked: list[float] = []

    async def note(due_s: float) -> None:
        asked.append(due_s)

    await replay(matcher, "kimi-crash", speed=100.0, pace=note)

    recorded = list(events("kimi-crash"))
    assert asked[0] == 0.0
    assert asked == sorted(asked)
    assert asked[-1] == pytest.approx((recorded[-1].at_ns - recorded[0].at_ns) / 1e9 / 100.0)


def test_json_has_the_arithmetic_and_says_that_its_figures_are_invented(told_as_json):
    (told,) = (event for event in told_as_json if event["event"] == "speedup")
    (result,) = (event for event in told_as_json if event["event"] == "result")
    assert told["invented"] is True
    assert told["acceptance_length"] == result["acceptance"]["length"]
    assert told["break_even_acceptance_length"] == pytest.approx(1.5 / 52 * 82)
    assert told["what_if"][0]["speed_up"] > 1 > told["speed_up"]


def test_json_says_in_its_first_line_that_nothing_of_it_happened(told_as_json):
    first, *rest = told_as_json
    assert (first["event"], first["recording"], first["invented"]) == ("replay", "kimi-start", True)
    assert [line["verdict"] for line in rest if line["event"] == "result"] == ["ready"]
    assert rest[-1] == {
        "schema": 1,
        "event": "demo",
        "recordings": ["kimi-start"],
        "as_expected": True,
    }


async def test_a_recording_that_ends_otherwise_than_it_must_is_status_1(matcher, monkeypatch):
    monkeypatch.setitem(player.EXPECTED, "kimi-crash", Verdict.READY)

    status, text = await replay(matcher, "kimi-crash")

    assert status == 1
    assert "✗ this should have ended as ready" in text
