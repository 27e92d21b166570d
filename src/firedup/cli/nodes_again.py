"""What the commands do with a launched run on several hosts: watch it again, stop, restart it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import click

from firedup.cli.launch import launch_whole, say_risk_on
from firedup.cli.nodes import run_of_head, watch_members
from firedup.cli.say import say, say_aside
from firedup.cli.watching import say_changes, say_launched
from firedup.core.error import FiredupError
from firedup.core.node import label_hosts
from firedup.profile.schema import Catalogue
from firedup.session.nodes import id_of_node, open_members
from firedup.session.nodes_restart import restart_nodes
from firedup.session.nodes_stop import stop_nodes
from firedup.session.registry import Run
from firedup.view.ended import record_end, tell_end
from firedup.view.record import render_json


async def attach_nodes(run: Run, catalogue: Catalogue, given: Mapping[str, Any]) -> int:
    """Watch again all nodes of the run of which `run` is one; the exit status."""
    async with open_members(run) as members:
        return await watch_members(members, catalogue, given)


async def stop_all_nodes(
    run: Run, catalogue: Catalogue, grace_s: float | None, *, as_json: bool
) -> None:
    """Stop all nodes of the run of which `run` is one. Raises what kept one of them alive."""
    faults: list[FiredupError] = []
    async with open_members(run) as members:
        telling = say_aside if as_json else say
        ends = await stop_nodes(members, catalogue, say=telling, grace_s=grace_s)
    labels = label_hosts(run.manifest.nodes)
    for member, label, end in zip(members, labels, ends, strict=True):
        if isinstance(end, FiredupError):
            faults.append(end)
        if as_json:
            name = replace(run.label, id=id_of_node(run.label.id, member.rank), host=member.host)
            was_alive = member.run is not None and member.run.is_alive
            told = record_end(name, end, was_alive=was_alive)
            click.echo(render_json({**told, "node": member.rank}))
        elif isinstance(end, FiredupError):
            say(f"{run.label.name} on {label} was not stopped: {end.what}")
        else:
            say(f"{run.label.name} on {label} {tell_end(end)}")
    if faults:
        raise faults[0]


async def restart_all_nodes(run: Run, catalogue: Catalogue, given: Mapping[str, Any]) -> int:
    """Restart all nodes of the run of which `run` is one, and watch them; the exit status."""
    async with open_members(run) as members:
        hosts = [member.host for member in members]
        again, changes = await restart_nodes(
            members,
            catalogue,
            given["changed"],
            say=say_aside,
            force=given["force"],
            arms_stacks=given["arms_stacks"],
            skips=given["skips"],
            heed=say_risk_on,
            will_watch=not given["no_wait"],
            whole=lambda launching: launch_whole(launching, hosts, run_of_head),
        )
        say_changes(run, changes, given)
        if not given["no_wait"]:
            return await watch_members(again, catalogue, given)
        for member in again:
            if member.run is not None:
                say_launched(member.run, as_json=given["as_json"], changes=changes)
    return 0
