"""The runs of a host by their names and ids."""

from __future__ import annotations

import difflib
import shlex
from dataclasses import dataclass

from firedup.core.error import UsageError
from firedup.core.model import RunLabel, ServerSpec
from firedup.host.link import Agent
from firedup.host.manifest import Manifest
from firedup.host.run import RunState
from firedup.host.run import list_runs as list_states


@dataclass(frozen=True, slots=True)
class Run:
    """A run whose manifest could be read, with what its host shows of it now."""

    label: RunLabel
    state: RunState
    manifest: Manifest

    @property
    def folder(self) -> str:
        """Its folder on the host."""
        return self.state.folder

    @property
    def spec(self) -> ServerSpec:
        """What its command says."""
        return self.manifest.spec

    @property
    def log(self) -> str:
        """Its log's path on the host."""
        return self.manifest.log or f"{self.state.folder}/server.log"

    @property
    def is_alive(self) -> bool:
        """Whether its server's process lives."""
        return self.state.is_server_alive


class UnknownRunError(UsageError):
    """The host has no such run."""


async def list_runs(agent: Agent) -> tuple[Run, ...]:
    """All runs with a readable manifest on the agent's host, newest first."""
    states = await list_states(agent)
    found = [
        Run(RunLabel(s.id, s.manifest.name, agent.host.name), s, s.manifest)
        for s in states
        if s.manifest is not None
    ]
    # Ids tell the second alone, and a restart may take no longer.
    found.sort(key=lambda run: run.manifest.launched.wall_ns if run.manifest.launched else 0)
    return tuple(reversed(found))


async def find_run(agent: Agent, text: str) -> Run:
    """The run that `text` names: an id, the beginning of one, a name (the newest), or name~N."""
    if not text.strip():
        raise UsageError("no run has an empty name", todo="firedup ps --all lists all runs.")
    runs = await list_runs(agent)
    name, _, back = text.partition("~")
    named = [run for run in runs if run.label.name == name]
    if back.isdigit() and int(back) < len(named):
        return named[int(back)]
    if named and not back:
        return named[0]
    by_id = [run for run in runs if run.label.id == text]
    by_id = by_id or [run for run in runs if run.label.id.startswith(text)]
    if len(by_id) == 1:
        return by_id[0]
    raise _unknown(agent, text, runs, by_id, named)


def _unknown(
    agent: Agent, text: str, runs: tuple[Run, ...], by_id: list[Run], named: list[Run]
) -> UsageError:
    there = "" if agent.host.is_local else f" on {agent.host.name}"
    if len(by_id) > 1:
        ids = ", ".join(run.label.id for run in by_id[:5])
        return UsageError(f"{text} could be any of {len(by_id)} runs{there}", evidence=ids)
    if named:
        return _unnumbered(text, there, named)
    names = sorted({run.label.name for run in runs} | {run.label.id for run in runs})
    close = difflib.get_close_matches(text, names, 1)
    option = "" if agent.host.is_local else f" --host {shlex.quote(agent.host.name)}"
    todo = f"Did you mean {close[0]}?" if close else f"firedup ps --all{option} lists all runs."
    todo = todo if runs else f"Nothing was launched{there} yet."
    return UnknownRunError(f"there is no run {text}{there}", todo=todo)


def _unnumbered(text: str, there: str, named: list[Run]) -> UsageError:
    """Why `text`, which begins with a name that runs have, is none of them."""
    name, _, back = text.partition("~")
    if not back.isdigit():
        return UsageError(
            f"{text} needs a number after the ~",
            todo=f"{name} is the newest run of that name, {name}~1 the one before.",
        )
    count = f"{len(named)} runs have" if len(named) > 1 else "1 run has"
    return UsageError(f"no {text}{there}: {count} that name")
