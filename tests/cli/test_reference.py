"""The reference page says what the commands' own help says."""

from __future__ import annotations

from firedup.cli.overview import HELP
from tools.write_cli_reference import PAGE, list_helps, render_page


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == render_page()


def test_every_command_is_on_it() -> None:
    paths = {path for path, _ in list_helps()}

    assert {f"firedup {name}" for name in HELP} < paths
    assert {"firedup", "firedup profile check", "firedup profile new"} < paths
