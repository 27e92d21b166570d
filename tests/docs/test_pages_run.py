"""The outputs that pages show in ```console run blocks are printed by the commands above them."""

from __future__ import annotations

from pathlib import Path

import pytest
from reader import ROOT, MismatchError, Reader, compare, make_environment

from tools.page import Typed, read_blocks
from tools.tracked import list_files

PAGES = [
    page
    for page in list_files(ROOT, ".md")
    if any(block.runs for block in read_blocks(page.read_text(encoding="utf-8")))
]


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_a_page_shows_what_its_commands_print(page: Path, tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp")
    folder = tmp_path / "work"
    folder.mkdir()
    reader = Reader(folder, make_environment(tmp_path))
    try:
        assert reader.follow(page) > 0
    finally:
        reader.end()


def test_the_first_page_and_the_tutorial_are_among_them() -> None:
    names = {str(page.relative_to(ROOT)) for page in PAGES}

    assert {"README.md", "docs/tutorial/first-server.md"} <= names


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("✓ ready after 2.1 s", "✓ ready after 1 min 43 s\n"),
        ("…\ndone", "19:12:47 +00:00 args\ndone\n"),
        ("SIGTERM to pid 7", "SIGTERM to\n  pid 4711"),
        ("deleted 20261129-191247-small-9fea", "deleted 20270101-000000-small-0000"),
    ],
)
def test_times_ids_and_line_breaks_do_not_count(shown: str, printed: str) -> None:
    compare(Typed("x", shown, 1), printed)


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("ready", "crashed"),
        ("ready", "ready and more"),
        ("…\ndone", "done, or so\n"),
        ("a\n…\nb", "b\na\n"),
    ],
)
def test_everything_else_counts(shown: str, printed: str) -> None:
    with pytest.raises(MismatchError):
        compare(Typed("x", shown, 1), printed)
