"""The command line as a program: real processes, and nothing of them left afterwards."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from typist import Shell


@pytest.fixture(scope="session")
def shared_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def _one_cache(_own_home: None, shared_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile the catalogue once for all these tests."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(shared_cache))


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    """A shell; every process that was started from it is gone afterwards."""
    folder = tmp_path / "work"
    folder.mkdir()
    yield Shell(folder)
    state = os.environ["XDG_STATE_HOME"]
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get("XDG_STATE_HOME") == state and process.pid != os.getpid():
                process.send_signal(signal.SIGKILL)
