"""A user who types commands, and nothing of them left afterwards."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from typing_user import User

from tests.leftover import kill_left


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    """A user; every process that his commands left is gone afterwards."""
    folder = tmp_path / "user"
    folder.mkdir()
    yield User(folder)
    kill_left(os.environ["XDG_STATE_HOME"])
