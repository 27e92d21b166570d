"""What `firedup host` does: list the known hosts, change what is remembered, show one."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path

import click

from firedup.cli.paper import choose_output
from firedup.cli.rows import list_known_hosts
from firedup.core.error import UsageError
from firedup.host.address import name_host, parse_host
from firedup.host.config import HostMemory, forget, memory_path, read_memory, remember
from firedup.store.index import index_path, open_index, read_index
from firedup.view.record import SCHEMA, render_json
from firedup.view.redact import clean

ALL = "all"


def list_hosts(*, as_json: bool, no_color: bool) -> int:
    """Print the known hosts: their runs in the index, and what is remembered."""
    runs = read_index(index_path(os.environ))
    counts = {host: sum(name_host(run.host) == host for run in runs) for host in list_known_hosts()}
    keys = {host: list(read_memory(host, os.environ).words()) for host in counts}
    if as_json:
        hosts = [
            {"host": host, "runs": count, "remembered": keys[host]}
            for host, count in counts.items()
        ]
        click.echo(render_json({"schema": SCHEMA, "hosts": hosts}))
        return 0
    paper = choose_output(no_color=no_color)
    rows = [("host", "runs", "remembered")]
    rows += [
        (clean(host), str(count), ", ".join(keys[host]) or "–") for host, count in counts.items()
    ]
    widest = max(len(row[0]) for row in rows)
    lines = [f"{name:{widest}}  {count:>4}  {words}" for name, count, words in rows]
    lines[0] = paper.paint(lines[0], "faint")
    click.echo(paper.finish(lines), color=True)
    return 0


def change_memory(
    text: str, words: Mapping[str, str | bool], forgotten: str | None, *, as_json: bool
) -> int:
    """Forget a key or all, then remember `words`; say what is remembered now."""
    name = parse_host(text).name
    for key, value in words.items():
        if value == "":
            option = key.replace("_", "-")
            raise UsageError(
                f"--{option} is empty",
                todo=f"firedup host {shlex.quote(name)} --forget {option} removes it.",
            )
    if forgotten is not None:
        said = _forget(name, forgotten)
        if not as_json:
            click.echo(said)
    kept = dict(words)
    if kept.get("login") is False:  # as if nothing had been said
        forget(name, "login", os.environ)
        del kept["login"]
    if kept:
        remember(name, kept, os.environ)
    if as_json:
        memory = read_memory(name, os.environ)
        click.echo(render_json({"schema": SCHEMA, "host": clean(name), **_record(memory)}))
    elif words:
        _tell_memory(name)
    return 0


def _tell_memory(name: str) -> None:
    memory = read_memory(name, os.environ)
    if memory.words():
        click.echo(f"remembered in {_shorten(str(memory_path(name, os.environ)))}")
        for line in render_memory(memory):
            click.echo(line)
    else:
        click.echo(f"nothing is remembered of {name}")
    click.echo(f"Check it: firedup host {shlex.quote(name)}")


def _forget(name: str, key: str) -> str:
    """What was forgotten, in words."""
    if key != ALL:
        said = "forgot" if forget(name, key, os.environ) else "did not remember"
        return f"{said} {key.replace('_', '-')} of {name}"
    was_there = forget(name, None, os.environ)
    runs = [run for run in read_index(index_path(os.environ)) if name_host(run.host) == name]
    if runs:
        with open_index(index_path(os.environ)) as index:
            for host in {run.host for run in runs}:
                index.forget(host, [run.id for run in runs])
    parts = ["its settings"] if was_there else []
    if runs:
        parts.append(f"{len(runs)} run{'s' * (len(runs) > 1)}, whose folders there stay")
    return f"forgot {name}: {' and '.join(parts)}" if parts else f"nothing is known of {name}"


def show_host(text: str, *, as_json: bool, no_color: bool) -> int:
    """Look at the host and print what was found; 1 when something does not hold."""
    from firedup.cli.drive import run_async
    from firedup.cli.knowledge import read_catalogue
    from firedup.cli.surveyed import record_survey, render_survey
    from firedup.session.survey import survey_host

    name = parse_host(text).name
    memory = read_memory(name, os.environ)
    survey = run_async(survey_host(text, memory, read_catalogue()))
    if as_json:
        click.echo(render_json({"schema": SCHEMA, **record_survey(survey), **_record(memory)}))
    else:
        paper = choose_output(no_color=no_color)
        lines = render_survey(survey, paper)
        if memory.words():
            path = _shorten(str(memory_path(name, os.environ)))
            lines += [f"remembered in {path}", *render_memory(memory)]
        else:
            lines.append(f"nothing is remembered: firedup host {shlex.quote(name)} --setup '…'")
        click.echo(paper.finish(lines), color=True)
    return 1 if survey.problems else 0


def render_memory(memory: HostMemory) -> list[str]:
    """A line for each thing that is remembered."""
    return [
        f"  {key.replace('_', '-'):9} {'yes' if value is True else clean(str(value))}"
        for key, value in memory.words().items()
    ]


def _record(memory: HostMemory) -> dict[str, object]:
    words = memory.words()
    return {"remembered": {k: clean(v) if isinstance(v, str) else v for k, v in words.items()}}


def _shorten(path: str) -> str:
    home = str(Path.home())
    return f"~{path[len(home) :]}" if path.startswith(f"{home}/") else path
