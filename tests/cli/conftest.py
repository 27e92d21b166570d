"""The command line as a program: real processes, and nothing of them left afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from typist import Shell


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    """A shell; every process that was started from it is gone afterwards."""
    folder = tmp_path / "work"
    folder.mkdir()
    typed = Shell(folder)
    yield typed
    typed.end()
