"""`--skip-check`: which checks before a launch are left out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

_F = TypeVar("_F", bound=Callable[..., Any])
# As firedup.session.preflight has them, which takes long to import.
PREFLIGHT_CHECKS = (
    "folder",
    "program",
    "container",
    "ports",
    "checkpoints",
    "log",
    "disk",
    "shared-memory",
    "memory",
    "gpus",
    "packages",
    "left-behind",
    "watchdog",
    "all",
)


def skips(command: _F) -> _F:
    """`--skip-check`."""
    return click.option(
        "--skip-check",
        "skips",
        multiple=True,
        type=click.Choice(PREFLIGHT_CHECKS),
        metavar="CHECK",
        help=f"Leave out this check before the launch: {', '.join(PREFLIGHT_CHECKS)}.",
    )(command)
