"""Paths as a user writes them → absolute paths on a host."""

from __future__ import annotations

import posixpath
from pathlib import Path

from firedup.host.link import Agent


def path_on(agent: Agent, text: str) -> str:
    """The absolute path that `text` means on the agent's host; `~` is the home there.

    What is relative begins at the home, and on this machine at the present folder.
    """
    base = agent.hello["cwd"] if agent.host.is_local else agent.hello["home"]
    if text == "~" or text.startswith("~/"):
        return path_below_home(agent, text)
    return posixpath.normpath(posixpath.join(str(base), text))


def path_below_home(agent: Agent, text: str) -> str:
    """The same for what is remembered of a host: all that is relative begins at the home there."""
    below = text[2:] if text.startswith("~/") else "" if text == "~" else text
    return posixpath.normpath(posixpath.join(str(agent.hello["home"]), below))


def suspect_home(agent: Agent, path: str) -> str | None:
    """What to write instead of `path` if the shell here seems to have replaced its `~`, else None.

    It puts the home of this machine, which is another one on most hosts.
    """
    here = str(Path.home())
    if agent.host.is_local or here == agent.hello["home"] or not path.startswith(f"{here}/"):
        return None
    return f"'~{path[len(here) :]}'"
