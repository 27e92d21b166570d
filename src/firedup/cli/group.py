"""The group of all commands; a command's module is imported only when the command is used."""

from __future__ import annotations

import importlib
from pathlib import Path

import click

from firedup.cli.command import Group
from firedup.cli.overview import HELP, render_overview


class Commands(Group):
    """Finds commands in the table of `firedup.cli.overview`."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's
        """The names, in the order of the overview."""
        return list(HELP)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's
        """The command, imported now."""
        if cmd_name not in HELP:
            return None
        module = importlib.import_module(f"firedup.cli.{cmd_name}")
        found = module.command
        assert isinstance(found, click.Command)  # noqa: S101 - each module keeps to the same name
        return found

    def get_help(self, ctx: click.Context) -> str:  # noqa: ARG002 - click's
        """The overview."""
        return render_overview()

    def advise(self, word: str, known: list[str]) -> str:
        """Also thinks of a log that was given without a command."""
        if Path(word).is_file():
            return f"To learn what that log tells: firedup explain {word}"
        return super().advise(word, known)


commands = Commands(
    "firedup",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
