"""Options that say what a probe asks, for `firedup probe` and for `firedup run --then probe`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

_F = TypeVar("_F", bound=Callable[..., Any])
MOST_TOKENS = 1_000_000
# Options of `firedup run` that are for the probe behind it.
OF_PROBE = ("baseline", "concurrency", "requests", "max_tokens", "budget_s")


def requests(command: _F) -> _F:
    """`--requests`."""
    return click.option(
        "--requests",
        type=click.IntRange(4, 10_000),
        metavar="N",
        help="Prompts for each load, else 42, or as many as there are.",
    )(command)


def max_tokens(command: _F) -> _F:
    """`--max-tokens`."""
    return click.option(
        "--max-tokens",
        type=click.IntRange(8, MOST_TOKENS),
        metavar="N",
        help="Tokens of an answer, else 256.",
    )(command)
