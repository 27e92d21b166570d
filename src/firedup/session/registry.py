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


@dataclass(frozen=True, slots=True)
class Folders:
    """The run folders of a host: `runs`, the newest first, and the paths of damaged ones.

    Those hold no manifest that can be read, so that nothing is known of them but their log.
    """

    runs: tuple[Run, ...]
    damaged: tuple[str, ...] = ()


async def list_runs(agent: Agent) -> tuple[Run, ...]:
    """All runs with a readable manifest on the agent's host, newest first."""
    return (await list_folders(agent)).runs


async def list_folders(agent: Agent) -> Folders:
    """All run folders on the agent's host."""
    states = await list_states(agent)
    found = [
        Run(RunLabel(s.id, s.manifest.name, agent.host.name), s, s.manifest)
        for s in states
        if s.manifest is not None
    ]
    # Ids tell the second alone, and a restart may take no longer.
    found.sort(key=lambda run: run.manifest.launched.wall_ns if run.manifest.launched else 0)
    damaged = tuple(s.folder for s in states if s.manifest is None)
    return Folders(tuple(reversed(found)), damaged)


async def find_run(agent: Agent, text: str) -> Run:
    """The run that `text` names: an id, the beginning of one, a name (the newest), or name~N."""
    if not text.strip():
        raise UsageError("no run has an empty name", todo="firedup ps --all lists all runs.")
    folders = await list_folders(agent)
    runs = folders.runs
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
    if not by_id and not named:
        _complain_of_damage(agent, text, folders.damaged)
    raise _unknown(agent, text, runs, by_id, named)


def _complain_of_damage(agent: Agent, text: str, damaged: tuple[str, ...]) -> None:
    """UsageError when `text` is the id of a run whose manifest cannot be read, or its name."""
    for folder in damaged:
        run_id = folder.rpartition("/")[2]
        if run_id.startswith(text) or f"-{text}-" in run_id:
            there = "" if agent.host.is_local else f"{agent.host.name}:"
            raise UsageError(
                f"the run {run_id} is damaged: its manifest cannot be read",
                where=f"{there}{folder}/manifest.json",
                todo="Its log may still be there: firedup explain reads any log by its path.",
            )


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
