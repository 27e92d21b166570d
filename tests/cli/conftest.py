"""The command line as a program: real processes, and nothing of them left afterwards."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from leftover import kill_left
from typist import Shell


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    """A shell; every process that was started from it is gone afterwards."""
    folder = tmp_path / "work"
    folder.mkdir()
    yield Shell(folder)
    kill_left(os.environ["XDG_STATE_HOME"])
