"""The page of `firedup --help` and what it costs to print it."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest

import firedup
from firedup.cli import main
from firedup.cli.group import commands
from firedup.cli.overview import HELP, render_overview


def test_the_page_fits_any_terminal() -> None:
    page = render_overview()

    assert page.isascii()
    assert max(map(len, page.splitlines())) < 80


def test_each_command_stands_apart_from_what_it_does() -> None:
    page = render_overview()

    assert all(f"  {name} " in page for name in HELP)


@pytest.mark.parametrize("words", [["--help"], ["-h"], ["help"]])
def test_the_page_is_printed_on_demand(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 0
    assert capsys.readouterr().out == render_overview() + "\n"


def test_no_command_at_all_is_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert capsys.readouterr() == ("", render_overview() + "\n")


@pytest.mark.parametrize("words", [("--host", "box", "ps"), ("--host=box", "ps")])
def test_a_host_before_the_command_is_sent_behind_it(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    said = capsys.readouterr().err
    assert said.startswith("firedup: --host stands after the command: firedup ps --host box\n")


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"firedup {firedup.__version__}\n"


def test_click_shows_the_same_page() -> None:
    context = click.Context(commands, info_name="firedup")

    assert commands.get_help(context) == render_overview()


@pytest.mark.parametrize("name", HELP)
def test_each_command_of_the_page_exists_and_says_the_same(name: str) -> None:
    found = commands.get_command(click.Context(commands), name)

    assert found is not None
    assert found.name == name
    assert found.short_help == HELP[name]


@pytest.mark.parametrize("word", ["--help", "--version"])
def test_nothing_heavy_is_imported_for_it(word: str) -> None:
    text = (
        "import sys, firedup.cli; firedup.cli.main([sys.argv[1]]);"
        "print(*sorted(sys.modules), file=sys.stderr)"
    )
    argv = [sys.executable, "-I", "-c", text, word]

    loaded = set(subprocess.run(argv, capture_output=True, text=True, check=True).stderr.split())

    ours = {name for name in loaded if name.startswith("firedup")}
    assert ours == {"firedup", "firedup.cli", "firedup.cli.overview"}
    assert not loaded & {"click", "re", "dataclasses", "asyncio", "rich", "msgspec", "pathlib"}


@pytest.mark.parametrize("name", HELP)
def test_a_command_is_not_loaded_before_it_runs(name: str) -> None:
    text = f"import sys, firedup.cli.{name}; print(*sorted(sys.modules))"
    argv = [sys.executable, "-I", "-c", text]

    loaded = set(subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split())

    layers = {word.split(".")[1] for word in loaded if word.startswith("firedup.")}
    assert layers == {"cli"}
    assert not loaded & {"asyncio", "rich", "msgspec", "re2", "hyperscan", "sqlite3"}
