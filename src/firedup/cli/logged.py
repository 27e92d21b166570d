"""What `firedup probe --from-log` does."""

from __future__ import annotations

import click

from firedup.cli.paper import choose_output
from firedup.session.logged import read_log
from firedup.view.logged import record_logged, render_logged
from firedup.view.record import render_json

# The log tells nothing of it.
_NOTHING = 6


def tell_logged(path: str, engine: str | None, *, as_json: bool) -> int:
    """Say what a log tells of acceptance and speed; the exit status."""
    found = read_log(path, engine=engine)
    if as_json:
        click.echo(render_json(record_logged(found)))
    else:
        paper = choose_output()
        click.echo(paper.finish(render_logged(found, paper)))
    return 0 if found.windows is not None else _NOTHING
