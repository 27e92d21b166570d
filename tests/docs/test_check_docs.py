"""The checks of documents find what they are for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.check_docs import check_commands, check_reach, check_span, check_tests, check_words
from tools.page import Block, Supply, Typed, read_script, read_typed, split_commands


@pytest.mark.parametrize(
    "words",
    [
        "--help",
        "ps --all",
        "run --name a -- A=b server --port 8000 --no-such-flag-of-ours",
        "restart small -- --tp 4",
        "watch server.log --format classic --every 15",
        "explain --profile no-such-file.toml server.log",
        "profile check",
        "run --help",
    ],
)
def test_a_command_that_exists_is_no_problem(words: str) -> None:
    assert check_words(words.split()) is None


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("rum", "rum"),
        ("ps --al-l", "--al-l"),
        ("watch server.log --format nice", "nice"),
        ("explain", "LOG"),
        ("profile chek", "chek"),
        ("run --timeout 5x -- server", "5x"),
    ],
)
def test_a_command_that_does_not_is_named(words: str, message: str) -> None:
    problem = check_words(words.split())

    assert problem is not None
    assert message in problem


@pytest.mark.parametrize(
    "span", ["firedup COMMAND", "firedup stop RUN --grace 5s", "firedup restart RUN -- --any 1"]
)
def test_a_mention_may_be_incomplete(span: str) -> None:
    assert check_span(span) is None


@pytest.mark.parametrize("span", ["firedup chek TARGET", "firedup ps --gone", "firedup profile x"])
def test_a_mention_may_not_be_wrong(span: str) -> None:
    assert check_span(span)


def test_a_wrong_command_is_found_by_its_line(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Page\n\n```console\n$ cat x | firedup explain --jsn -\nno\n```\n")

    (problem,) = check_commands(page, frozenset())

    assert problem.startswith(f"{page}:4: ")
    assert "--jsn" in problem


def test_a_test_that_is_not_there_is_found(tmp_path: Path) -> None:
    (tmp_path / "test_one.py").write_text("async def test_here() -> None: ...\n")
    page = tmp_path / "page.md"
    page.write_text("[test_here](test_one.py) [test_gone](test_one.py) `test_any` `test_no`\n")

    no, gone = check_tests(page, frozenset({"test_any"}))

    assert "test_no" in no
    assert "test_gone" in gone


def test_a_page_without_a_way_is_found(tmp_path: Path) -> None:
    pages = [tmp_path / name for name in ("README.md", "linked.md", "further.md", "alone.md")]
    pages[0].write_text("[a](linked.md)\n```text\n[no](alone.md)\n```\n")
    pages[1].write_text("[b](further.md#place)\n")
    pages[2].touch()
    pages[3].write_text("[up](README.md)\n")

    (problem,) = check_reach(pages, pages[0])

    assert problem.startswith(str(pages[3]))


def test_commands_are_found_between_their_outputs() -> None:
    block = Block("console", "$ a \\\n>   --b\none\n\n$ python -c 'x\n> y'\n", 10)

    first, second = read_typed(block)

    assert first == Typed("a \\\n  --b", "one\n", 10)
    assert second == Typed("python -c 'x\ny'", "", 14)


def test_each_program_of_a_line_is_found() -> None:
    typed = "A=b firedup ps && echo $(firedup logs x) | head -n 1 > y; ./dev test &  # why"

    assert list(split_commands(typed)) == [
        ["firedup", "ps"],
        ["echo", "$"],
        ["firedup", "logs", "x"],
        ["head", "-n", "1"],
        ["y"],
        ["./dev", "test"],
    ]


def test_a_script_is_what_is_supplied_and_typed_in_the_order_of_the_page() -> None:
    page = (
        "<!-- with: a/b.log as c.log -->\n```console run\n$ one\n```\n"
        "```console\n$ not this\n```\n<!-- with: d.log -->\n```console run\n$ two\n```\n"
    )

    assert read_script(page) == [
        Supply("a/b.log", "c.log"),
        Typed("one", "", 3),
        Supply("d.log", None),
        Typed("two", "", 10),
    ]
