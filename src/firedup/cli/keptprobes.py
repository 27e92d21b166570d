"""Lists the measurements that are kept, for `firedup probe --list` and `firedup compare`."""

from __future__ import annotations

import os
import time

import click

from firedup.cli.paper import choose_output
from firedup.cli.say import say_aside
from firedup.core.error import FiredupError
from firedup.store.probe import StoredProbe, list_probes, load_probe, probes_folder
from firedup.view.keptprobe import KeptProbe, record_kept, render_kept
from firedup.view.record import render_json


def tell_kept(*, as_json: bool) -> int:
    """Show them, the newest first, and return the exit status; files that hold none are named."""
    kept = []
    for path in list_probes(probes_folder(os.environ)):
        try:
            kept.append(_as_row(load_probe(path)))
        except FiredupError as error:
            say_aside(f"left out: {error.what}")
    if as_json:
        click.echo(render_json(record_kept(kept)))
        return 0
    paper = choose_output()
    click.echo(paper.finish(render_kept(kept, paper, now_ns=time.time_ns())))
    return 0


def _as_row(one: StoredProbe) -> KeptProbe:
    server = one.name or one.run or one.url
    return KeptProbe(one.id, server, one.arm, one.host, one.run, one.name, one.url)
