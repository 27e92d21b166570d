"""Watches a launched run with the options of a command, and says what goes on without it."""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import click

from firedup.cli.index import remember_run
from firedup.cli.knowledge import match_server
from firedup.cli.links import LOCAL
from firedup.cli.option import NEVER, read_limit
from firedup.cli.say import say_aside
from firedup.cli.show import JSON_LINES, Showing, read_showing, show_snapshots
from firedup.core.difference import Change
from firedup.core.model import Finding, Severity, Snapshot, Verdict
from firedup.host.base import LinkError
from firedup.host.link import Agent
from firedup.profile.schema import Catalogue
from firedup.profile.words import LOOP_HIGHLIGHT
from firedup.session.registry import Run
from firedup.session.run import watch_run
from firedup.session.status import NO_CONCLUSION, exit_status
from firedup.session.watch import Watching
from firedup.view.redact import clean, conceal

_UNKNOWN = "Whether the server goes on is not known."


def read_watching(given: Mapping[str, Any], showing: Showing) -> Watching:
    """What to watch for, and what the view needs of each snapshot."""
    words = given.get("progress_pattern") or LOOP_HIGHLIGHT
    return Watching(
        until=given["until"],
        timeout_s=read_limit(given["timeout_s"]),
        lost_after_s=read_limit(given["lost_after_s"]),
        token_every_s=read_limit(given.get("token_every_s", NEVER)),
        tail_lines=showing.tail_lines,
        highlight=re.compile(words) if showing.chosen == "classic" else None,
        clean=clean,
        conceal=conceal,
        say=say_aside,
        stage_limits=given.get("stage_limits", ()),
    )


async def watch_launched(
    agent: Agent, catalogue: Catalogue, run: Run, given: Mapping[str, Any]
) -> int:
    """Watch `run` to its verdict; the exit status. The server outlives the watching."""
    showing = read_showing(given)
    on_stall = given.get("on_stall") or run.manifest.on_stall
    watching = replace(read_watching(given, showing), ends_on_stall=on_stall == "stop")
    matcher = match_server(catalogue, run.spec.engine)
    snapshots = watch_run(agent, catalogue, matcher, run, watching)
    remember_run(run, None)
    latest: deque[Snapshot] = deque(maxlen=1)
    try:
        if on_stall == "stop":
            snapshots = _noting_stop(snapshots)
        last = await show_snapshots(snapshots, showing, latest.append)
    except asyncio.CancelledError:
        say_goes_on(run, *latest)
        raise
    except LinkError as error:
        raise error.advise(f"{_UNKNOWN} {_name_ways(run)}") from error
    remember_run(run, last)
    if on_stall == "stop" and last is not None and _is_to_be_stopped(last):
        await _stop_stalled(agent, catalogue, run, _stall_of(last))
    return conclude(last, given)


async def _noting_stop(snapshots: AsyncIterator[Snapshot]) -> AsyncIterator[Snapshot]:
    """The same; the last one says that the server is ended now, where that is so."""
    note = "firedup stops the server now, since it is stalled (--on-stall stop)"
    async with aclosing(snapshots) as stream:  # type: ignore[type-var]  # a generator
        async for snapshot in stream:
            told = snapshot.explanation
            if snapshot.is_final and _is_to_be_stopped(snapshot):
                told = replace(told, notes=(*told.notes, note))
            yield replace(snapshot, explanation=told)


def _is_to_be_stopped(snapshot: Snapshot) -> bool:
    told = snapshot.explanation
    return told.verdict is Verdict.STALLED and not told.exited


def _stall_of(snapshot: Snapshot) -> Finding:
    """What stands: the gravest finding, which a stall has."""
    found = [one for one in snapshot.explanation.findings if one.severity is Severity.SEVERE]
    silent = Finding("no-progress", Severity.SEVERE, "Nothing moved any more.")
    return found[0] if found else silent


async def _stop_stalled(agent: Agent, catalogue: Catalogue, run: Run, stall: Finding) -> None:
    """End a server that stands, as its operator asked for; what does not end is said."""
    from firedup.session.stop import StuckError, stop_run

    say_aside(f"{run.label.name} is stalled and is stopped (--on-stall stop)")
    try:
        await stop_run(agent, catalogue, run, say=say_aside, stall=stall)
    except StuckError as error:
        say_aside(str(error))
    except LinkError as error:
        raise error.advise(f"{_UNKNOWN} {_name_ways(run)}") from error


def conclude(last: Snapshot | None, given: Mapping[str, Any]) -> int:
    """The exit status of a watch whose last snapshot this is."""
    if last is None:
        return NO_CONCLUSION
    return exit_status(last, requires=frozenset(given["requires"]))


def say_goes_on(run: Run, latest: Snapshot | None = None) -> None:
    """What somebody is told who breaks off the watching; `latest` is what was shown last."""
    is_seen = latest is None or latest.link is None
    said = "The server goes on." if is_seen else f"There is no link to the host. {_UNKNOWN}"
    click.echo(f"\n{said} {_name_ways(run)}", err=True)


def say_launched(run: Run, *, as_json: bool, changes: Sequence[Change] | None = None) -> None:
    """What `--no-wait` prints; `changes` are those of a restart."""
    remember_run(run, None)
    if as_json:
        from firedup.cli.rows import make_row
        from firedup.view.record import SCHEMA, render_json
        from firedup.view.table import record_row

        told = {"schema": SCHEMA, **record_row(make_row(run)), "log": run.log}
        if changes is not None:
            told["restarted_from"] = run.manifest.restarted_from
            told["changes"] = _record_changes(changes)
        click.echo(render_json(told))
        return
    from firedup.view.phrase import name_place

    host = run.label.host
    where = "" if host == LOCAL else f" on {clean(host)}"
    click.echo(f"launched {clean(run.label.name)}{where} as {run.label.id}")
    click.echo(f"  log {clean(name_place(host, run.log))}\n{_name_ways(run)}")


def say_changes(old: Run, changes: Sequence[Change], given: Mapping[str, Any]) -> None:
    """What a restart changed: lines for people, or the first of the events."""
    if read_showing(given).chosen != JSON_LINES:
        from firedup.view.change import render_change

        for change in changes:
            click.echo(render_change(change.name, change.old, change.new), err=True)
    elif not given["no_wait"]:
        from firedup.view.record import SCHEMA, render_json

        event = {"schema": SCHEMA, "event": "restart", "restarted_from": old.label.id}
        click.echo(render_json({**event, "changes": _record_changes(changes)}))


def _record_changes(changes: Sequence[Change]) -> list[dict[str, object]]:
    from firedup.view.change import record_change

    return [record_change(change.name, change.old, change.new) for change in changes]


def _name_ways(run: Run) -> str:
    from firedup.view.phrase import name_for_shell

    name = name_for_shell(run.label)
    return f"Watch it: firedup attach {name}   End it: firedup stop {name}"
