"""What is said while patterns are compiled for the first time."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import pytest

from firedup.cli import patience
from firedup.cli.patience import TEXT, TellingCache


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience._Said, "is_said", False)
    monkeypatch.setattr(patience, "AFTER_S", 0.0)


def wait_for_timers() -> None:
    for thread in threading.enumerate():
        if isinstance(thread, threading.Timer):
            thread.join()


def at_terminal(monkeypatch: pytest.MonkeyPatch, *, is_one: bool) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_one, raising=False)


def test_what_takes_long_is_said_once_and_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    at_terminal(monkeypatch, is_one=True)
    cache = TellingCache(tmp_path)

    for name in ("catalogue", "patterns"):
        assert cache.get(name) is None
        wait_for_timers()
        cache.put(name, b"made")

    assert capsys.readouterr().err == f"{TEXT}\n"


def test_what_is_made_soon_or_was_kept_is_not_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    at_terminal(monkeypatch, is_one=True)
    monkeypatch.setattr(patience, "AFTER_S", 600.0)
    cache = TellingCache(tmp_path)

    assert cache.get("catalogue") is None
    cache.put("catalogue", b"made")
    monkeypatch.setattr(patience, "AFTER_S", 0.0)
    assert cache.get("catalogue") == b"made"
    wait_for_timers()

    assert capsys.readouterr().err == ""


def test_where_nobody_reads_along_nothing_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    at_terminal(monkeypatch, is_one=False)

    assert TellingCache(tmp_path).get("catalogue") is None
    wait_for_timers()

    assert capsys.readouterr().err == ""
