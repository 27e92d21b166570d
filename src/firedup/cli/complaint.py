"""What is wrong with the words of a command line, in one message."""

from __future__ import annotations

import click

from firedup.cli.command import Command
from firedup.core.error import FiredupError
from firedup.view.redact import clean, printable_block, redact


def render_complaint(error: click.ClickException) -> str:
    """The message about wrong use: the command, what is wrong, and where the help is."""
    message = clean(error.format_message())
    context = error.ctx if isinstance(error, click.UsageError) else None
    if context is None:
        return message
    path = context.command_path
    if isinstance(error, click.NoSuchOption) and isinstance(context.command, Command):
        message = f"{message} {context.command.advice}".rstrip()
    words = path.removeprefix("firedup").strip()
    return f"{words + ': ' if words else ''}{message}\nTry: {path} --help"


def render_error(error: FiredupError) -> str:
    """The parts of an error, safe to print."""
    return redact(printable_block(str(error)))
