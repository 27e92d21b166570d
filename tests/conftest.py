"""Gives every test the same settings, and a home of its own."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import hypothesis
import pytest

if TYPE_CHECKING:
    from pathlib import Path

# Hosts behind SSH, for tests in any folder.
pytest_plugins = ("tests.ssh_server",)

# Examples may be slow on a busy machine, so there is no deadline; in CI they are always the same.
hypothesis.settings.register_profile("firedup", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "firedup")

# What a developer's terminal may have set and what would change the output under test.
TERMINAL_VARIABLES = (
    "CLICOLOR_FORCE",
    "COLUMNS",
    "FORCE_COLOR",
    "LINES",
    "NO_COLOR",
    "TTY_COMPATIBLE",
)


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep run folders, the index and the user's configuration out of the tests and vice versa."""
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    for name in TERMINAL_VARIABLES:
        monkeypatch.delenv(name, raising=False)
