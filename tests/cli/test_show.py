"""Which view is fed, and what is written of a raw log."""

from __future__ import annotations

import io
import json
import os
import pty
import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest

from firedup.cli.raw import MOST_HELD, open_raw
from firedup.cli.show import Showing, read_showing, show_snapshots
from firedup.core.model import Explanation, Snapshot, Stage, Verdict

GIVEN: dict[str, Any] = {
    "as_json": False,
    "format_name": None,
    "every": None,
    "width": None,
    "tail": 30,
    "no_color": False,
}
SECOND = 1_000_000_000


def snapshot(at_s: int, verdict: Verdict, *, is_final: bool = False) -> Snapshot:
    explanation = Explanation(None, None, verdict, Stage.LOAD_WEIGHTS, None, 0.9)
    return Snapshot(
        at_s * SECOND,
        at_s * SECOND,
        explanation,
        elapsed_s=at_s,
        ready_after_s=at_s if verdict is Verdict.READY else None,
        is_final=is_final,
    )


async def story() -> AsyncIterator[Snapshot]:
    yield snapshot(1, Verdict.LOADING)
    yield snapshot(40, Verdict.LOADING)
    yield snapshot(41, Verdict.READY)


async def test_json_is_lines_that_end_with_the_result(capsys: pytest.CaptureFixture[str]) -> None:
    last = await show_snapshots(story(), read_showing({**GIVEN, "as_json": True}))

    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert last is not None
    assert last.explanation.verdict is Verdict.READY
    assert events[-1]["event"] == "result"
    assert events[-1]["verdict"] == "ready"


async def test_a_pipe_gets_plain_lines(capsys: pytest.CaptureFixture[str]) -> None:
    await show_snapshots(story(), Showing())

    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "ready after 41 s" in out


async def test_the_classic_format_has_its_own_pace(capsys: pytest.CaptureFixture[str]) -> None:
    await show_snapshots(story(), Showing("classic", every_s=15.0))

    first, last = capsys.readouterr().out.splitlines()
    assert first.endswith(" waiting... last: (no match)")
    assert "SERVER READY at " in last


async def test_a_watch_that_says_nothing_shows_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    async def nothing() -> AsyncIterator[Snapshot]:
        return
        yield

    assert await show_snapshots(nothing(), Showing()) is None
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("term", "chosen"), [("xterm-256color", "terminal"), ("dumb", "plain"), ("", "plain")]
)
def test_a_terminal_gets_the_live_view_unless_it_is_dumb(
    term: str, chosen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    master, slave = pty.openpty()
    monkeypatch.setenv("TERM", term)

    with os.fdopen(slave, "w") as stream, os.fdopen(master, "rb", buffering=0):
        monkeypatch.setattr(sys, "stdout", stream)
        showing = Showing()
        assert (showing.chosen, showing.tail_lines) == (chosen, 0)
        assert Showing("classic", tail=7).tail_lines == 7
        monkeypatch.undo()


def test_the_bytes_of_a_log_pass_a_pipe_unchanged() -> None:
    stream = io.TextIOWrapper(io.BytesIO())

    with open_raw(stream) as write:
        for piece in (b"\xff\x1b[31m", b"api_key=sk-123456789012345678\r\n"):
            write(piece)

    assert stream.buffer.getvalue() == b"\xff\x1b[31mapi_key=sk-123456789012345678\r\n"  # type: ignore[attr-defined]


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_on_a_terminal_a_log_is_made_safe_whatever_its_pieces() -> None:
    whole = "größer\x1b[31m red\x1b[0m 10%\r20%\r\nAuthorization: Bearer sk-123456789012345678\nend"
    data = whole.encode()
    shown = set()
    for size in (1, 3, 7, len(data)):
        stream = Screen()
        with open_raw(stream) as write:
            for at in range(0, len(data), size):
                write(data[at : at + size])
        shown.add(stream.getvalue())

    (text,) = shown
    assert text.startswith("größer red 10%\n20%\nAuthorization: ")
    assert text.endswith("\nend\n")
    assert "\x1b" not in text
    assert "sk-1234" not in text


@pytest.mark.parametrize("word", ["x" * 7, "tok --api-key rosebud --port 1", "api_key='rosebud',"])
def test_a_line_without_end_is_printed_in_parts_that_tear_no_secret(word: str) -> None:
    stream, held = Screen(), 0
    line = f"{word} " * (5 * MOST_HELD // len(word))

    with open_raw(stream) as write:
        for at in range(0, len(line), 999):
            write(line[at : at + 999].encode())
            held = max(held, min(at + 999, len(line)) - stream.tell())

    if "rosebud" in word:
        assert "rosebud" not in stream.getvalue()
        secret = "rosebud" if "--" in word else "'rosebud'"
        assert stream.getvalue().rstrip() == line.replace(secret, "[redacted]").rstrip()
    else:
        assert stream.getvalue() == f"{line}\n"
        assert held <= MOST_HELD + 999


def test_a_line_without_a_space_is_printed_in_parts_too() -> None:
    stream = Screen()

    with open_raw(stream) as write:
        for _ in range(300):
            write(b"x" * 1000)
        assert stream.tell() > 300_000 - MOST_HELD - 1000

    assert stream.getvalue() == f"{'x' * 300_000}\n"


def test_a_return_at_the_end_of_a_piece_waits_for_what_follows() -> None:
    stream = Screen()

    with open_raw(stream) as write:
        for piece in (b"a\r", b"\nb\r", b"c\r", b"\r", b"\n"):
            write(piece)

    assert stream.getvalue() == "a\nb\nc\n\n"
