"""Files of variables on the host: where they are, which names they set, never a value."""

from __future__ import annotations

import posixpath
from pathlib import Path

from firedup.core.error import UsageError
from firedup.host.link import Agent
from firedup.session.order import Order


def variable_paths(agent: Agent, order: Order) -> tuple[str, ...]:
    """The files of `order` as the host finds them.

    On the local host a relative path begins in the client's own folder, else in the home there.
    """
    base = str(Path.cwd()) if agent.host.is_local else str(agent.hello["home"])
    return tuple(
        path if path.startswith("~") else posixpath.normpath(posixpath.join(base, path))
        for path in order.env_files
    )


async def fetch_variable_names(agent: Agent, order: Order) -> frozenset[str]:
    """The variables that the files of `order` set. UsageError for a file that cannot be used."""
    paths = variable_paths(agent, order)
    if not paths:
        return frozenset()
    result = await agent.call("variables", paths=list(paths))
    for file in result["files"]:
        if (error := file["error"]) is not None:
            raise UsageError(
                error["what"], evidence=error["evidence"], why=error["why"], todo=error["todo"]
            )
    return frozenset(name for file in result["files"] for name in file["names"])
