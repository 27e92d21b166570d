"""The page on prompts shows lines that can be loaded, and figures that are right."""

from __future__ import annotations

import json
import re
import tomllib
from importlib import resources
from pathlib import Path
from statistics import median

from firedup.core.measure.prompt import CATEGORIES, LONG_CONTEXT
from firedup.probe import longcontext, promptset
from firedup.probe.promptset import PER_CATEGORY, load_builtin, load_prompts

PAGE = (Path(__file__).parents[2] / "docs/reference/prompt-set.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| `([\w-]+)` \| (\S+|any number) \| ([^|]+?) \|", re.MULTILINE)


def test_the_lines_on_the_page_can_be_loaded(tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"
    path.write_text(PAGE.split("```json\n")[1].split("```")[0], encoding="utf-8")

    found = load_prompts(path)

    assert len(found.prompts) == 4
    assert found.notes == ()
    assert [prompt.category for prompt in found.prompts] == ["own", "physics", "own", "own"]


def test_the_table_names_all_categories_with_their_sizes() -> None:
    rows = {name: (count, sizes) for name, count, sizes in ROW.findall(PAGE)}

    assert list(rows) == list(CATEGORIES)
    for category in CATEGORIES[:-1]:
        sizes = [prompt.characters for prompt in load_builtin([category])]
        told = f"{median(sizes):,.0f} ({min(sizes):,} to {max(sizes):,})"
        assert rows[category] == (str(PER_CATEGORY), told)
    assert rows[LONG_CONTEXT][1].startswith(f"{longcontext.DEFAULT_CHARACTERS:,},")


def test_the_limits_on_the_page_are_those_of_the_code() -> None:
    assert f"up to {promptset.MOST_PROMPTS:,} prompts" in PAGE
    assert f"{promptset.MOST_BYTES >> 20} MiB, and a line up to" in PAGE
    assert f"a line up to {promptset.LONGEST_LINE >> 20} MiB" in PAGE
    assert f"The least is {longcontext.SHORTEST:,} characters" in PAGE
    assert f"the most {longcontext.LONGEST:,}." in PAGE
    assert f"at {longcontext.CHARACTERS_PER_TOKEN} characters" in PAGE


def test_the_page_counts_the_languages() -> None:
    file = resources.files("firedup.probe") / "prompts" / "multilingual.toml"
    items = tomllib.loads(file.read_text(encoding="utf-8"))["prompt"]

    assert f"{len({item['language'] for item in items})} languages" in PAGE


def test_the_table_of_keys_has_all_that_are_read() -> None:
    keys = set(re.findall(r"^\| `(\w+)` \|[^|]*\|$", PAGE, re.MULTILINE))

    assert keys == {"prompt", "messages", "turns", "conversations", "id", "category"}
    assert all(json.loads(line) for line in PAGE.split("```json\n")[1].split("```")[0].splitlines())
