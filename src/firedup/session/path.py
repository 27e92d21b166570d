"""Paths as a user writes them → absolute paths on a host."""

from __future__ import annotations

import posixpath
from pathlib import Path

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


def suspect_home(agent: Agent, path: str) -> str | None:
    """What to write instead of `path` if the shell here seems to have replaced its `~`, else None.

    It puts the home of this machine, which is another one on most hosts.
    """
    here = str(Path.home())
    if agent.host.is_local or here == agent.hello["home"] or not path.startswith(f"{here}/"):
        return None
    return f"'~{path[len(here) :]}'"
