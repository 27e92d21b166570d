"""Completes the names of runs in a shell, from the client's index."""

from __future__ import annotations

import os

import click


def complete_run(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    """Names, and ids where a beginning of one was typed; nothing when the index is of no use."""
    import sqlite3

    from firedup.core.error import StoreError
    from firedup.store.index import index_path, open_index

    path = index_path(os.environ)
    if not path.exists():
        return []
    try:
        with open_index(path) as index:
            runs = index.runs("local")
    except (StoreError, sqlite3.Error):
        return []
    words = [run.name for run in runs]
    if incomplete[:1].isdigit():
        words += [run.id for run in runs]
    return [word for word in dict.fromkeys(words) if word.startswith(incomplete)]
