"""Options that say where and with what a command is launched, for all that take such a command."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from firedup.cli import option

_F = TypeVar("_F", bound=Callable[..., Any])

_OPTIONS = (
    click.option("--env", "env", multiple=True, type=option.Variable(), help="Set a variable."),
    click.option(
        "--env-file",
        "env_files",
        multiple=True,
        metavar="FILE",
        help="Set the variables of a file of K=V lines that lies on the host; may be repeated.",
    ),
    click.option("--setup", metavar="SHELL", help="Shell before it: 'source venv/bin/activate'."),
    click.option("--login/--no-login", default=None, help="Launch from a login shell, or not."),
    click.option(
        "--cwd", metavar="DIR", help="The server's folder; else this one, on a host the home there."
    ),
)


def options(function: _F) -> _F:
    """Adds --env, --env-file, --setup, --login and --cwd, in this order."""
    for add in reversed(_OPTIONS):
        function = add(function)
    return function
