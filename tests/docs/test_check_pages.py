"""The pages of the checks say what the checks say, and each finding has one."""

from __future__ import annotations

from pathlib import Path

from firedup.drafter.judge import all_checks, page_of
from tools.pages import find_stale
from tools.write_check_pages import FOLDER, render_pages


def test_the_pages_are_up_to_date() -> None:
    assert list(find_stale(FOLDER, render_pages())) == []


def test_a_page_that_describes_nothing_is_stale(tmp_path: Path) -> None:
    for name, text in render_pages().items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    left_over = tmp_path / "a-check-of-yesterday.md"
    left_over.write_text("# Gone\n", encoding="utf-8")

    assert list(find_stale(tmp_path, render_pages())) == [left_over]


def test_each_id_has_the_page_that_json_names() -> None:
    root = FOLDER.parents[2]
    for check in all_checks():
        for ident in check.ids:
            page = page_of(ident)
            assert page is not None
            assert (root / page).is_file()
    assert page_of("no-such-id") is None
