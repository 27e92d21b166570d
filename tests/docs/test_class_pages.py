"""The pages of the classes of failure say what the catalogue says."""

from __future__ import annotations

from pathlib import Path

import pytest

from firedup.profile.join import join_files
from firedup.profile.read import builtin_files
from firedup.profile.schema import Catalogue
from tools.pages import find_stale
from tools.write_class_pages import FOLDER, render_pages


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return join_files(builtin_files()).catalogue


def test_the_pages_are_up_to_date(catalogue: Catalogue) -> None:
    assert list(find_stale(FOLDER, render_pages(catalogue))) == []


def test_a_page_that_describes_no_class_is_stale(catalogue: Catalogue, tmp_path: Path) -> None:
    for name, text in render_pages(catalogue).items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    left_over = tmp_path / "a-class-of-yesterday.md"
    left_over.write_text("# Gone\n", encoding="utf-8")

    assert list(find_stale(tmp_path, render_pages(catalogue))) == [left_over]


def test_the_index_leads_to_every_class(catalogue: Catalogue) -> None:
    index = render_pages(catalogue)["README.md"]

    assert [c.id for c in catalogue.classes if f"({c.id}.md)" not in index] == []


def test_a_page_shows_remedies_by_stage_and_every_rule(catalogue: Catalogue) -> None:
    page = render_pages(catalogue)["cuda-out-of-memory.md"]

    assert "| graph-capture |" in page
    names = {e.rule.name for e in catalogue.entries if e.rule.failure == "cuda-out-of-memory"}
    assert [name for name in names if f"### `{name}`" not in page] == []


def test_the_rules_of_the_house_are_shown_as_they_are_tried() -> None:
    folder = FOLDER.parents[1] / "how-to"
    shown = (folder / "teach-firedup-an-engine.md").read_text(encoding="utf-8")

    assert (folder / "house-rules.toml").read_text(encoding="utf-8") in shown
