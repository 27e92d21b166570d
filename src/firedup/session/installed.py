"""Which version of an engine a command would start, told from the folders of its Python."""

from __future__ import annotations

import posixpath
import re

from firedup.host.base import OperationError
from firedup.host.file import find_program
from firedup.host.link import Agent
from firedup.session.order import Order

_LIBRARY = re.compile(r"python3\.\d+")


async def find_version(agent: Agent, order: Order, engine: str | None, cwd: str) -> str | None:
    """The version of `engine` beside the program of the command; None where that does not tell.

    Nothing is run. What a setup or a login shell brings along is not known.
    """
    if engine is None or order.setup is not None or order.login:
        return None
    path = dict(order.env).get("PATH")
    program, _ = await find_program(agent, order.argv[0], path=path, cwd=cwd)
    if program is None:
        return None
    library = posixpath.join(posixpath.dirname(posixpath.dirname(program)), "lib")
    wanted = re.compile(rf"{re.escape(engine)}-(\d[^-]*)\.dist-info", re.IGNORECASE)
    for folder in await _names(agent, library):
        if not _LIBRARY.fullmatch(folder):
            continue
        for name in await _names(agent, posixpath.join(library, folder, "site-packages")):
            if found := wanted.fullmatch(name):
                return found[1]
    return None


async def _names(agent: Agent, folder: str) -> list[str]:
    try:
        listed = await agent.call("list", path=folder)
    except OperationError:
        return []
    return [str(entry["name"]) for entry in listed["entries"]]
