"""A run folder is removed although somebody still adds a file to it."""

import os
from pathlib import Path

import pytest

from firedup.host.agent.file import op_remove


def folder_in(state: Path) -> Path:
    folder = state / "firedup" / "runs" / "r"
    folder.mkdir(parents=True)
    (folder / "events.jsonl").touch()
    return folder


def add_before_removal(monkeypatch: pytest.MonkeyPatch, folder: Path, times: int) -> None:
    """Each of the next `times` removals of the folder finds one more file in it."""
    remove, left = os.rmdir, iter(range(times))

    def late(path: object, **how: object) -> None:
        if next(left, None) is not None:
            (folder / "events.jsonl").touch()
        remove(path, **how)  # type: ignore[arg-type]  # of several types

    monkeypatch.setattr(os, "rmdir", late)


def test_a_file_that_comes_meanwhile_is_removed_too(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = folder_in(state)
    add_before_removal(monkeypatch, folder, 2)

    op_remove({"path": str(folder)})

    assert not folder.exists()


def test_a_folder_that_never_gets_empty_is_told(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = folder_in(state)
    add_before_removal(monkeypatch, folder, 1000)

    with pytest.raises(OSError, match="not empty"):
        op_remove({"path": str(folder)})
