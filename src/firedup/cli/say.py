"""Prints what an operation says while it goes on, fit for any terminal and any reader."""

from __future__ import annotations

import click

_MOST_LETTERS = 240
_END_LETTERS = 40


def say(text: str) -> None:
    """One line on standard output; the command lines in it may hold secrets and anything else."""
    click.echo(_fit(text))


def say_aside(text: str) -> None:
    """The same beside a view, to which standard output belongs."""
    click.echo(_fit(text), err=True)


def _fit(text: str) -> str:
    """`text` cleaned and only then cut, since half a secret is not known for one."""
    from firedup.view.redact import clean

    said = clean(text)
    if len(said) <= _MOST_LETTERS:
        return said
    return f"{said[: _MOST_LETTERS - _END_LETTERS]}…{said[-_END_LETTERS:]}"
