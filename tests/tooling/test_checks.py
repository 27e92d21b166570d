"""The small checks find what they are for, and only that."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.check_layout import list_modules, read_sentence, replace_list
from tools.check_links import find_broken, make_anchor
from tools.check_size import LIMIT, find_oversized
from tools.check_words import find_words


def test_a_module_of_300_lines_passes_and_one_of_301_does_not(tmp_path: Path) -> None:
    (tmp_path / "fits.py").write_text("pass\n" * LIMIT)
    (tmp_path / "long.py").write_text("pass\n" * (LIMIT + 1))

    (problem,) = find_oversized(tmp_path)
    assert problem.startswith(f"{tmp_path / 'long.py'}: 301 lines")


def test_the_list_of_modules_is_made_of_their_first_sentences(tmp_path: Path) -> None:
    package = tmp_path / "pack"
    package.mkdir()
    (package / "__init__.py").write_text('"""Holds things."""\n')
    (package / "thing.py").write_text(
        '"""A thing, e.g. v1.2 of it. More about it.\n\nEven more.\n"""'
    )

    assert (
        list_modules(package)
        == "- `pack/` — Holds things\n  - `pack/thing.py` — A thing, e.g. v1.2 of it"
    )


def test_a_sentence_may_run_over_two_lines(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text('"""One\nsentence.\n\nAnother.\n"""\n')

    assert read_sentence(tmp_path / "m.py") == "One sentence"


def test_only_the_list_between_the_markers_is_replaced() -> None:
    page = "# A\n<!-- modules -->\nold\n<!-- /modules -->\nend\n"

    assert replace_list(page, "- new") == "# A\n<!-- modules -->\n- new\n<!-- /modules -->\nend\n"
    with pytest.raises(SystemExit, match="markers"):
        replace_list("# A\n", "- new")


def test_links_that_lead_nowhere_are_found_with_their_line(tmp_path: Path) -> None:
    (tmp_path / "other.md").write_text("# Some `code`, too\n\n## Twice\n\n## Twice\n")
    page = tmp_path / "page.md"
    page.write_text(
        "# Top\n"
        "[fine](other.md) [fine](other.md#some-code-too) [fine](#top) [web](https://example.com/x)\n"
        "[fine](other.md#twice-1) `[code](gone.md)`\n"
        "```\n[fenced](gone.md)\n```\n"
        "[gone](gone.md) [no heading](other.md#nothing)\n"
        "[name]: lost.md\n"
    )

    assert find_broken(page) == [
        f"{page}:7: gone.md does not exist",
        f"{page}:7: other.md#nothing: there is no such heading",
        f"{page}:8: lost.md does not exist",
    ]


@pytest.mark.parametrize(
    ("heading", "anchor"),
    [
        ("What it is, and why", "what-it-is-and-why"),
        ("`run` [x](y.md)!", "run-x"),
        ("a_b-c", "a_b-c"),
    ],
)
def test_an_anchor_is_made_as_a_forge_makes_it(heading: str, anchor: str) -> None:
    assert make_anchor(heading) == anchor


def test_registries_and_folders_of_this_machine_are_found(tmp_path: Path) -> None:
    here = tmp_path / "here"
    page = tmp_path / "page.txt"
    host = "REGISTRY.NPMJS.ORG".lower()  # written so that this file passes the check
    fine = f"fine /elsewhere{here}/x {{home}}{here}/x {here}abouts"
    page.write_text(f"see {host}/x\n{fine}\nopen {here}/x\n")

    assert find_words(page, [here]) == [
        f"{page}:1: {host} means something on one machine only",
        f"{page}:3: {here} means something on one machine only",
    ]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        # Put together, so that this file passes the check.
        (f"as issue {7} asks", [f"issue {7}"]),
        (f"mended in PR #{12}, see Bug {3}", [f"PR #{12}", f"Bug {3}"]),
        (f"it hung (#{41}), then #{42}", [f"#{41}", f"#{42}"]),
        ("issues that people have, 7 of them", []),
        ("#0  syscall () at syscall.S:38", []),
        ("Loading: 17%|#7        | 11/64", []),
        ("colour #28c840, C#, {#x}", []),
        ("a tracker.example/issues/new page", []),
    ],
)
def test_numbers_of_issues_are_found(line: str, words: list[str], tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"{line}\n")

    assert find_words(page, [tmp_path / "elsewhere"]) == [
        f"{page}:1: {word} means something to its writers only" for word in words
    ]


def test_what_engines_printed_may_hold_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page = Path("tests/data/run.log")
    page.parent.mkdir(parents=True)
    page.write_text(f"known as issue {7}\n")

    assert find_words(page, [tmp_path]) == []


def test_binary_files_hold_no_words(tmp_path: Path) -> None:
    page = tmp_path / "model.bin"
    page.write_bytes(b"\0" + str(tmp_path).encode())

    assert find_words(page, [tmp_path]) == []
