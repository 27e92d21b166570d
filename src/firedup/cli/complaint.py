"""What is wrong with the words of a command line, in one message."""

from __future__ import annotations

import os

import click

from firedup.cli.command import Command
from firedup.cli.option import HOST_VARIABLE
from firedup.core.error import FiredupError
from firedup.host.base import LinkError
from firedup.view.redact import clean, printable_block, redact


def render_complaint(error: click.ClickException) -> str:
    """The message about wrong use: the command, what is wrong, and where the help is."""
    message = clean(error.format_message())
    context = error.ctx if isinstance(error, click.UsageError) else None
    if context is None:
        return message
    path = context.command_path
    unknown = error.option_name if isinstance(error, click.NoSuchOption) else None
    if unknown and isinstance(context.command, Command):
        message = f"{message} {context.command.advice}".rstrip()
    if unknown == "--host" and context.parent is None:
        message = "--host stands after the command: firedup ps --host box"
    words = path.removeprefix("firedup").strip()
    return f"{words + ': ' if words else ''}{message}\nTry: {path} --help"


def render_error(error: FiredupError) -> str:
    """The parts of an error, safe to print; with where its host was named, if not in the words."""
    text = str(error)
    name = os.environ.get(HOST_VARIABLE)
    if name and isinstance(error, LinkError) and error.what.startswith(f"{name}: "):
        text += f"\n({HOST_VARIABLE}={name} names the host where --host does not.)"
    return redact(printable_block(text))
