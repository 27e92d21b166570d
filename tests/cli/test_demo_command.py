"""`firedup demo`: the replay through the real views, and the words it takes."""

from __future__ import annotations

import json

import pytest

from firedup.cli import main


def test_a_replay_needs_no_engine_and_says_what_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--replay=kimi-crash", "--speed", "100000"]) == 0

    out = capsys.readouterr().out
    assert "REPLAY" in out
    assert "crashed in graph-capture" in out
    assert "TP5" in out


def test_programs_can_read_a_replay(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--replay=kimi-start", "--json", "--speed", "100000"]) == 0

    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [e["verdict"] for e in events if e["event"] == "result"] == ["ready"]
    assert events[-1]["as_expected"] is True


def test_an_unknown_recording_is_told_which_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--replay=kimi"]) == 2
    assert "kimi-start, kimi-crash" in capsys.readouterr().err
