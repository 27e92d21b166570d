"""Completes the names of runs and hosts in a shell, from what the client knows by itself."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from firedup.store.index import IndexedRun


def complete_run(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001 - click gives them
    """Names, and ids where a beginning of one was typed; nothing when the index is of no use.

    They are those of --host; without it of all hosts, since a run is found on the one that has it.
    """
    runs = _read_index()
    host = ctx.params.get("host")
    if host is not None:
        from firedup.host.address import name_host

        name = name_host(str(host))
        runs = tuple(run for run in runs if run.host == name)
    words = [run.name for run in runs]
    if incomplete[:1].isdigit():
        words += [run.id for run in runs]
    return [word for word in dict.fromkeys(words) if word.startswith(incomplete)]


def complete_host(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001 - click gives them
    """Hosts of the user's SSH configuration, remembered ones, and those that have runs."""
    from pathlib import Path

    from firedup.host.config import list_memories
    from firedup.host.sshconfig import list_ssh_hosts

    words = ["local", *list_ssh_hosts(Path.home()), *list_memories(os.environ)]
    words += [run.host for run in _read_index()]
    return [word for word in dict.fromkeys(words) if word.startswith(incomplete)]


def _read_index() -> tuple[IndexedRun, ...]:
    from firedup.store.index import index_path, read_index

    return read_index(index_path(os.environ))
