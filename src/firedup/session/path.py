"""Paths as a user writes them → absolute paths on a host."""

from __future__ import annotations

import posixpath

from firedup.host.link import Agent


def path_on(agent: Agent, text: str) -> str:
    """The absolute path that `text` means on the agent's host; `~` is the home there.

    What is relative begins at the home, and on this machine at the present folder.
    """
    home = str(agent.hello["home"])
    if text == "~" or text.startswith("~/"):
        return posixpath.normpath(posixpath.join(home, text[2:]))
    base = str(agent.hello["cwd"]) if agent.host.is_local else home
    return posixpath.normpath(posixpath.join(base, text))
